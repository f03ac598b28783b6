import type { Readability } from '@mozilla/readability';
import { ELEMENT, markdownOf, type PageNode } from './markdown.ts';

export interface ReadablePage {
  /** One line; empty where the page has none. */
  readonly title: string;
  readonly text: string;
  /** The page had more elements than are read. */
  readonly isCut: boolean;
}

/**
 * The most elements and references: the DOM of a page with millions does not fit into this process's memory. A page of 2 MB has about
 * 100,000.
 */
const MOST_PARTS = 100_000;
/** The parser's time is quadratic in the depth. */
const DEEPEST = 2000;
/** Beyond these limits Readability takes minutes: its time grows with the depth and with each element's number of descendants. */
const READABILITY = { parts: 40_000, nodes: 20_000, depth: 100, depths: 250_000 };
/** Less text than this is not an article: the page is a list, or Readability missed it. */
const SHORTEST_ARTICLE = 250;

/** The main text of an HTML page as Markdown, without navigation; without an article, all of its text. `address` is its source. */
export async function readable(html: string, address: string): Promise<ReadablePage> {
  const { parseHTML } = await import('linkedom');
  const { text: given, parts } = beginningOf(html);
  // The parser adds none of these by itself; nesting two of them does no harm.
  const isWhole = /<html[\s>]/i.test(given) && /<body[\s>]/i.test(given);
  const { document } = parseHTML(isWhole ? given : `<!doctype html><html><head></head><body>${given}</body></html>`);
  const base = baseOf(document.querySelector('base')?.getAttribute('href') ?? null, address);
  const title = document.querySelector('title')?.textContent ?? '';
  const body: PageNode = document.body;
  const all = markdownOf(document.querySelector('main, article, [role=main]') ?? body, base); // Readability changes the document
  const article = parts <= READABILITY.parts && isForReadability(body) ? await articleIn(document) : null;
  const text = article === null ? '' : markdownOf(article.content, base);
  return {
    title: oneLine(article?.title || title),
    text: text.length >= SHORTEST_ARTICLE ? text : all,
    isCut: given !== html,
  };
}

/** null: it finds no article. */
async function articleIn(
  document: ConstructorParameters<typeof Readability>[0],
): Promise<{ readonly title: string; readonly content: PageNode } | null> {
  const { Readability: Reader } = await import('@mozilla/readability');
  const options = { serializer: (element: unknown) => element as PageNode, disableJSONLD: true, keepClasses: true };
  try {
    const article = new Reader<PageNode>(document, options).parse();
    return article?.content ? { title: article.title ?? '', content: article.content } : null;
  } catch {
    return null; // it fails on some documents; their plain text remains
  }
}

function oneLine(text: string): string {
  return text.slice(0, 2000).replace(/\s+/g, ' ').trim();
}

function baseOf(said: string | null, address: string): string {
  return said !== null && URL.canParse(said, address) ? new URL(said, address).href : address;
}

/** Cuts a page that no browser would show. The depth is an estimate: elements with an optional end tag do not count. */
function beginningOf(html: string): { readonly text: string; readonly parts: number } {
  let [parts, depth] = [0, 0];
  for (const { index, 1: slash, 2: name = '' } of html.matchAll(/<(\/?)([a-z][\w-]*)|[<&]/gi)) {
    if (name !== '' && !ENDLESS.has(name.toLowerCase())) depth = Math.max(0, depth + (slash === '' ? 1 : -1));
    parts += 1;
    if (parts > MOST_PARTS || depth > DEEPEST) return { text: html.slice(0, index), parts };
  }
  return { text: html, parts };
}

const ENDLESS: ReadonlySet<string> = new Set(
  'area base br col embed hr img input link meta source track wbr p li dt dd tr td th thead tbody tfoot option optgroup colgroup html head body path'.split(
    ' ',
  ),
);

/** Counts without recursion, since a page may be as deep as it is long. */
function isForReadability(root: PageNode): boolean {
  let [nodes, depth, depths] = [0, 0, 0];
  for (let node: PageNode | null = root; node !== null;) {
    nodes += 1;
    if (node.nodeType === ELEMENT) depths += depth;
    if (nodes > READABILITY.nodes || depth > READABILITY.depth || depths > READABILITY.depths) return false;
    if (node.firstChild !== null) {
      node = node.firstChild;
      depth += 1;
      continue;
    }
    while (node !== null && node !== root && node.nextSibling === null) {
      node = node.parentNode;
      depth -= 1;
    }
    node = node === null || node === root ? null : node.nextSibling;
  }
  return true;
}
