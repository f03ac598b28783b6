import { codeOf, messageOf, PithError, type Clock } from 'pith';
import { guardedFetch, type OutgoingOptions } from '@pith/guarded-fetch';
import { printableLine, printable } from '@pith/plain-text';
import { readable } from './readable.ts';

/** A page, or the outcome of a failed read. */
export type Page =
  | { readonly kind: 'page'; readonly url: string; readonly title: string; readonly text: string; readonly isCut: boolean }
  /** A redirect to another host, or from https to http, which was not followed. */
  | { readonly kind: 'redirect'; readonly to: string }
  /** Plain English, for the model and for people. */
  | { readonly kind: 'failed'; readonly code: string; readonly message: string };

/** The most bytes from a server, unpacked. */
const MOST_BYTES = 2 * 1024 * 1024;
/** The most characters of the result: nested lists grow. */
const MOST_CHARACTERS = 2 * 1024 * 1024;
const MOST_MS = 20_000;
const MOST_REDIRECTS = 5;
const HEADERS = {
  accept: 'text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, text/plain;q=0.8, */*;q=0.1',
  'accept-encoding': 'gzip, deflate, br',
  'user-agent': 'Mozilla/5.0 (compatible; Pith)',
};

/** How pages are read. */
export interface Reading {
  readonly clock: Clock;
  /** Origins that may have an address outside of the public internet. */
  readonly privateOrigins: readonly string[];
  readonly proxies: OutgoingOptions['proxies'];
}

/** The readable text of a page. Follows redirects within its host. Rejects when `signal` aborts. */
export async function readPage(address: URL, { clock, privateOrigins, proxies }: Reading, signal: AbortSignal): Promise<Page> {
  const late = new AbortController();
  const cancel = clock.after(MOST_MS, () => late.abort(new PithError('limit_reached', `the page took longer than ${MOST_MS / 1000} s`)));
  try {
    const fetch = guardedFetch({ allow: privateOrigins, proxies });
    return await followed(address, (url) =>
      fetch(url, { headers: HEADERS, redirect: 'manual', signal: AbortSignal.any([signal, late.signal]) }),
    );
  } catch (error) {
    signal.throwIfAborted();
    return failed(late.signal.aborted ? late.signal.reason : error, address);
  } finally {
    cancel();
  }
}

async function followed(address: URL, ask: (url: URL) => Promise<Response>): Promise<Page> {
  let url = address;
  for (let hops = 0; hops <= MOST_REDIRECTS; hops += 1) {
    const answer = await ask(url);
    const next = nextOf(answer, url);
    if (next === null) return read(answer, url);
    await answer.body?.cancel();
    if (next.host !== url.host || (next.protocol === 'http:' && url.protocol === 'https:')) return { kind: 'redirect', to: next.href };
    url = next;
  }
  return { kind: 'failed', code: 'web_failed', message: `${url.host} redirects without end: Pith followed ${MOST_REDIRECTS} redirects` };
}

/** null: not a redirect, or one without a valid address. */
function nextOf({ status, headers }: Response, url: URL): URL | null {
  const location = headers.get('location');
  if (location === null || ![301, 302, 303, 307, 308].includes(status) || !URL.canParse(location, url.href)) return null;
  const next = new URL(location, url);
  next.hash = '';
  return next;
}

async function read(answer: Response, url: URL): Promise<Page> {
  if (!answer.ok) {
    await answer.body?.cancel();
    return { kind: 'failed', code: 'web_failed', message: refusalOf(answer, url) };
  }
  const contentType = answer.headers.get('content-type') ?? '';
  const mediaType = contentType.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (mediaType !== '' && !TEXTS.test(mediaType)) {
    await answer.body?.cancel();
    return notText(url, mediaType);
  }
  const { bytes, isCut } = await firstBytes(answer);
  const isHtml = mediaType === '' ? LIKE_HTML.test(new TextDecoder('latin1').decode(bytes.subarray(0, 1024))) : HTML.test(mediaType);
  const text = decoded(bytes, contentType, isHtml);
  if (text.includes('\0')) return notText(url, mediaType);
  const page = isHtml ? await readable(text, url.href) : { title: '', text, isCut: false };
  return {
    kind: 'page',
    url: url.href,
    title: page.title,
    text: page.text.slice(0, MOST_CHARACTERS),
    isCut: isCut || page.isCut || page.text.length > MOST_CHARACTERS,
  };
}

const HTML = /^(?:text\/html|application\/xhtml\+xml)$/;
const LIKE_HTML = /^\s*<(?:!doctype\s+html|html|head|body)\b/i;
const TEXTS = /^(?:text\/.+|application\/(?:.+\+)?(?:json|xml|yaml|toml|javascript)|application\/(?:x-)?(?:ndjson|yaml|sh|javascript))$/;

async function firstBytes(answer: Response): Promise<{ readonly bytes: Uint8Array; readonly isCut: boolean }> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  // Leaving the loop ends the connection.
  for await (const piece of answer.body ?? []) {
    pieces.push(piece);
    size += piece.length;
    if (size > MOST_BYTES) break;
  }
  return { bytes: Buffer.concat(pieces).subarray(0, MOST_BYTES), isCut: size > MOST_BYTES };
}

function notText({ host }: URL, mediaType: string): Page {
  const what = mediaType === 'application/pdf' ? 'a PDF' : mediaType === '' ? 'not text' : `of type ${printableLine(mediaType, 80)}`;
  return { kind: 'failed', code: 'web_not_text', message: `${host} answers with something that is ${what}; only text can be read` };
}

function refusalOf({ status }: Response, { host }: URL): string {
  const meaning = MEANINGS.get(status);
  return `${host} answered ${status}${meaning === undefined ? '' : ` (${meaning})`}`;
}

const MEANINGS = new Map([
  [401, 'it needs a log-in'],
  [402, 'it wants to be paid'],
  [403, 'it refuses this page, perhaps to programs only'],
  [404, 'no such page'],
  [410, 'the page is gone'],
  [429, 'too many requests; try later'],
  [503, 'the server is busy; try later'],
]);

function failed(error: unknown, { host }: URL): Page {
  const code = codeOf(error, '');
  const cause = error instanceof TypeError ? error.cause : undefined;
  const why = printableLine(messageOf(cause ?? error), 300);
  if (code === 'address_refused')
    return { kind: 'failed', code, message: `${why}; a person can name its origin in extensions.web.private_origins` };
  return { kind: 'failed', code: code === 'limit_reached' ? code : 'web_failed', message: `${host} could not be read: ${why}` };
}

/** A text from the web in the form that the model reads: marked with its source, printable, and unable to end its own mark. */
export function fromOutside(source: string, text: string): string {
  return `<from-outside url="${source.replace(/["<>]/g, encodeURIComponent)}">\n${harmless(text)}\n</from-outside>`;
}

/** Removes or escapes invisible characters, so that they cannot hide a tag. */
function harmless(text: string): string {
  return printable(text.replace(INVISIBLE, '')).replace(TAG, (tag) => tag.replace('<', '&lt;'));
}

/** Hints for line breaks, and byte order marks. */
const INVISIBLE = /[\u00AD\u200B\u2060\uFEFF]/g;
const TAG = /<[\s/\\]*from[\s_-]*outside/gi;

/** The text of a page's bytes, by their first bytes, by the server's header, and by the HTML's own declaration. */
function decoded(bytes: Uint8Array, contentType: string, isHtml: boolean): string {
  const said = byteOrderMark(bytes) ?? charsetOf(contentType) ?? (isHtml ? charsetIn(bytes) : null);
  const decoder = said === null ? null : decoderOf(said);
  if (decoder !== null) return decoder.decode(bytes);
  try {
    // The end may be cut within a character, which `stream` allows.
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
  } catch {
    return new TextDecoder('windows-1252').decode(bytes); // as browsers read undeclared text that is not UTF-8
  }
}

function byteOrderMark([first, second, third]: Uint8Array): string | null {
  if (first === 0xef && second === 0xbb && third === 0xbf) return 'utf-8';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  return first === 0xff && second === 0xfe ? 'utf-16le' : null;
}

function charsetOf(contentType: string): string | null {
  return /\bcharset\s*=\s*["']?([\w:.-]+)/i.exec(contentType)?.[1] ?? null;
}

/** HTML must declare it within its first 1,024 bytes; many pages do so later. A page that can be read like this is not in UTF-16. */
function charsetIn(bytes: Uint8Array): string | null {
  const beginning = new TextDecoder('latin1').decode(bytes.subarray(0, 4096));
  const said = /<meta\b[^>]{0,300}?\bcharset\s*=\s*["']?([\w:.-]+)/i.exec(beginning)?.[1] ?? null;
  return said !== null && /^utf-?16/i.test(said) ? 'utf-8' : said;
}

function decoderOf(label: string): InstanceType<typeof TextDecoder> | null {
  try {
    return new TextDecoder(label);
  } catch {
    return null; // not a known encoding
  }
}
