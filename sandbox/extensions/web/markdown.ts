import { LONGEST_ADDRESS } from './web-address.ts';

/** The part of a DOM that is used. */
export interface PageNode {
  readonly nodeType: number;
  readonly nodeName: string;
  readonly textContent: string | null;
  readonly firstChild: PageNode | null;
  readonly nextSibling: PageNode | null;
  readonly parentNode: PageNode | null;
}

export interface PageElement extends PageNode {
  getAttribute(name: string): string | null;
}

export const ELEMENT = 1;
const TEXT = 3;
/** The deepest nesting that is converted; deeper elements become plain text. */
const DEEPEST = 100;

/** The most nested lists and quotations, each of which indents its lines. */
const MOST_LEVELS = 10;

const HIDDEN: ReadonlySet<string> = new Set(
  'HEAD TITLE SCRIPT STYLE NOSCRIPT TEMPLATE IFRAME OBJECT EMBED SVG CANVAS AUDIO VIDEO BUTTON SELECT INPUT TEXTAREA DIALOG'.split(' '),
);
const BLOCKS: ReadonlySet<string> = new Set(
  'ADDRESS ARTICLE ASIDE BODY CAPTION DD DETAILS DIV DL DT FIELDSET FIGCAPTION FIGURE FOOTER FORM HEADER HTML LI MAIN NAV P SECTION SUMMARY TBODY TD TFOOT TH THEAD TR'.split(
    ' ',
  ),
);
const MARKS = new Map([
  ['STRONG', '**'],
  ['B', '**'],
  ['EM', '_'],
  ['I', '_'],
  ['CODE', '`'],
]);

/**
 * An element as Markdown, for reading: headings, lists, tables, code, links and images with a text. Nothing is escaped. `base` resolves
 * relative links. Time and size are linear in the page.
 */
export function markdownOf(element: PageNode, base: string): string {
  return new MarkdownWriter(base, 0, 0).blocksIn(element).join('\n\n');
}

/** Collects the text of a line in `line`; each block ends it. */
class MarkdownWriter {
  readonly #blocks: string[] = [];
  #line: string[] = [];

  constructor(
    private readonly base: string,
    private readonly depth: number,
    /** The number of lists and quotations around it; null: blocks become parts of a line, as in links, headings and cells. */
    private readonly level: number | null,
  ) {}

  blocksIn(parent: PageNode): readonly string[] {
    this.#children(parent, this.depth);
    this.#endLine();
    return this.#blocks;
  }

  #children(parent: PageNode, depth: number): void {
    if (depth > DEEPEST) this.#text(parent.textContent ?? '');
    else for (let child = parent.firstChild; child !== null; child = child.nextSibling) this.#node(child, depth + 1);
  }

  #node(node: PageNode, depth: number): void {
    if (node.nodeType === TEXT) return this.#text(node.textContent ?? '');
    if (node.nodeType !== ELEMENT) return;
    const element = node as PageElement;
    const name = node.nodeName.toUpperCase();
    if (HIDDEN.has(name) || isHidden(element)) return;
    const mark = MARKS.get(name);
    if (mark !== undefined) return this.#marked(element, mark, depth);
    if (name === 'BR') return void this.#line.push(this.level === null ? ' ' : '\n');
    if (name === 'A') return this.#link(element, depth);
    if (name === 'IMG') return this.#image(element);
    if (this.level !== null && this.#block(element, name, depth)) return;
    const isBlock = BLOCKS.has(name) || /^(?:H[1-6]|UL|OL|BLOCKQUOTE|PRE|TABLE|HR)$/.test(name);
    if (isBlock) this.#endLine();
    this.#children(element, depth);
    if (isBlock) this.#endLine();
  }

  /** False: it is not a block. */
  #block(element: PageElement, name: string, depth: number): boolean {
    const heading = /^H([1-6])$/.exec(name)?.[1];
    if (heading !== undefined) this.#add(this.#lineOf(element, depth), (text) => `${'#'.repeat(Number(heading))} ${text}`);
    else if ((this.level ?? 0) >= MOST_LEVELS && /^(?:UL|OL|BLOCKQUOTE)$/.test(name)) return false;
    else if (name === 'UL' || name === 'OL') this.#add(this.#list(element, name === 'OL', depth));
    else if (name === 'BLOCKQUOTE') this.#add(indented(this.#within(element, depth).join('\n\n'), '> ', '> '));
    else if (name === 'PRE') this.#add(fenced(element));
    else if (name === 'HR') this.#add('---');
    else if (name === 'TABLE' && isOfData(element)) this.#add(this.#table(element, depth));
    else return false;
    return true;
  }

  #text(text: string): void {
    this.#line.push(text.replace(/[ \t\r\n\f]+/g, ' '));
  }

  #marked(element: PageElement, mark: string, depth: number): void {
    const text = this.#lineOf(element, depth);
    if (text !== '') this.#line.push(spaced(element, text.includes(mark) ? text : `${mark}${text}${mark}`));
  }

  #link(element: PageElement, depth: number): void {
    const text = this.#lineOf(element, depth);
    const target = this.#addressOf(element.getAttribute('href') ?? element.getAttribute('HREF'));
    if (text !== '') this.#line.push(spaced(element, target === null ? text : `[${text}](${target})`));
  }

  #image(element: PageElement): void {
    const text = (element.getAttribute('alt') ?? '').replace(/\s+/g, ' ').trim();
    const source = this.#addressOf(element.getAttribute('src'));
    if (text !== '') this.#line.push(source === null ? text : `![${text}](${source})`);
  }

  /** null: an address that cannot be fetched, such as a script. */
  #addressOf(reference: string | null): string | null {
    if (reference === null || !URL.canParse(reference, this.base)) return null;
    const { href, protocol } = new URL(reference, this.base);
    return /^(?:https?|mailto):$/.test(protocol) && href.length <= LONGEST_ADDRESS ? href : null;
  }

  #list(element: PageElement, isOrdered: boolean, depth: number): string {
    const start = Number.parseInt(element.getAttribute('start') ?? '', 10);
    let number = Number.isSafeInteger(start) ? start : 1;
    const items: string[] = [];
    for (const child of elementsIn(element)) {
      const text = this.#within(child, depth + 1).join('\n');
      if (text === '') continue;
      const bullet = isOrdered ? `${number++}. ` : '- ';
      items.push(indented(text, bullet, ' '.repeat(bullet.length)));
    }
    return items.join('\n');
  }

  #table(element: PageElement, depth: number): string {
    const rows = rowsOf(element).map((row) => elementsIn(row).map((cell) => this.#lineOf(cell, depth + 2).replaceAll('|', '\\|')));
    const written = rows.filter((cells) => cells.some((cell) => cell !== '')).map((cells) => `| ${cells.join(' | ')} |`);
    const [head, ...body] = written;
    if (head === undefined) return '';
    return [head, `|${' --- |'.repeat(rows[0]?.length ?? 1)}`, ...body].join('\n');
  }

  #lineOf(element: PageElement, depth: number): string {
    return new MarkdownWriter(this.base, depth, null).blocksIn(element).join(' ');
  }

  #within(element: PageElement, depth: number): readonly string[] {
    return new MarkdownWriter(this.base, depth, (this.level ?? 0) + 1).blocksIn(element);
  }

  #endLine(): void {
    const text = this.#line
      .join('')
      .replace(/ +/g, ' ')
      .replace(/ ?\n ?/g, '\n')
      .trim();
    this.#line = [];
    this.#add(text);
  }

  /** Ends the line before it. */
  #add(block: string, written: (text: string) => string = (text) => text): void {
    if (this.#line.length > 0) this.#endLine();
    if (block !== '') this.#blocks.push(written(block));
  }
}

function isHidden(element: PageElement): boolean {
  if (element.getAttribute('hidden') !== null || element.getAttribute('aria-hidden') === 'true') return true;
  return /(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)/i.test((element.getAttribute('style') ?? '').slice(0, 1000));
}

/** False for a layout table, which contains another table. */
function isOfData(table: PageElement): boolean {
  for (const row of rowsOf(table)) for (const cell of elementsIn(row)) if (containsTable(cell)) return false;
  return true;
}

function containsTable(cell: PageElement): boolean {
  return elementsIn(cell).some(
    (child) => /^TABLE$/i.test(child.nodeName) || elementsIn(child).some((one) => /^TABLE$/i.test(one.nodeName)),
  );
}

function rowsOf(table: PageElement): readonly PageElement[] {
  return elementsIn(table).flatMap((part) => {
    if (/^TR$/i.test(part.nodeName)) return [part];
    return /^T(?:HEAD|BODY|FOOT)$/i.test(part.nodeName) ? elementsIn(part).filter(({ nodeName }) => /^TR$/i.test(nodeName)) : [];
  });
}

/** The visible elements. */
function elementsIn(parent: PageNode): readonly PageElement[] {
  const found: PageElement[] = [];
  for (let child = parent.firstChild; child !== null; child = child.nextSibling)
    if (child.nodeType === ELEMENT && !isHidden(child as PageElement)) found.push(child as PageElement);
  return found;
}

function fenced(element: PageElement): string {
  const text = (element.textContent ?? '').replace(/^\n/, '').trimEnd();
  if (text === '') return '';
  const code = elementsIn(element).find(({ nodeName }) => /^CODE$/i.test(nodeName)) ?? element;
  const language = /\blanguage-([\w+#-]{1,30})/.exec(code.getAttribute('class') ?? '')?.[1] ?? '';
  const longest = (text.match(/`{3,}/g) ?? []).reduce((most, { length }) => Math.max(most, length), 2);
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}

/** Moves spaces at an element's ends outside of it. */
function spaced(element: PageElement, text: string): string {
  const raw = element.textContent ?? '';
  return `${/^\s/.test(raw) ? ' ' : ''}${text}${/\s$/.test(raw) ? ' ' : ''}`;
}

function indented(text: string, first: string, others: string): string {
  if (text === '') return '';
  return first + text.split('\n').join(`\n${others}`);
}
