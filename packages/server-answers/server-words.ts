import { isPlainMap, jsonOf, type PlainMap } from '@pith/plain-data';

/**
 * A server's own error message, from the body of a refusal or the parsed body. null: there is none. Reads `{error: {message}}`, as OpenAI
 * writes it, and similar forms: FastAPI's `detail`, lists, a bare `message`, JSON within a text, the title of a web page.
 */
export function serverWords(said: unknown): string | null {
  const words = wordsIn(said, 0);
  return words === null ? null : words.slice(0, MOST);
}

/** A log-in page or a proxy's page instead of an answer. */
export function isWebPage(text: string): boolean {
  return /^\s*(?:<!--[^]{0,500}?-->\s*)?<(?:!doctype\s+html|html|head|body)\b/i.test(text.slice(0, 1000));
}

/** The HTTP status in an error within an answer; null where it has none. */
export function codeIn(said: unknown): number | null {
  if (!isPlainMap(said)) return null;
  const inner = codeIn(said['error']);
  if (inner !== null) return inner;
  const named = [said['status_code'], said['statusCode'], said['status'], said['code']].map(Number);
  return named.find((code) => Number.isInteger(code) && code >= 400 && code < 600) ?? null;
}

const MOST = 2000;
const DEEPEST = 6;
/** The first non-empty field counts; each may contain JSON again. */
const FIELDS = [
  'error',
  'errors',
  'message',
  'Message',
  'detail',
  'msg',
  'status_msg',
  'base_resp',
  'error_message',
  'errorMessage',
  'error_description',
  'error_msg',
  'err',
  'reason',
  'title',
];

function wordsIn(said: unknown, depth: number): string | null {
  if (depth > DEEPEST) return null;
  if (typeof said === 'string') return wordsOfText(said.trim(), depth);
  if (Array.isArray(said)) {
    const words = said.slice(0, 5).flatMap((part) => wordsIn(part, depth + 1) ?? []);
    return words.length === 0 ? null : [...new Set(words)].join('; ');
  }
  if (!isPlainMap(said)) return null;
  const { error, message } = said;
  if (typeof error === 'string' && typeof message === 'string' && error !== message)
    return [error, message].flatMap((part) => wordsIn(part, depth + 1) ?? []).join(': ') || null;
  const at = placeOf(said['loc']);
  for (const field of FIELDS) {
    const words = wordsIn(said[field], depth + 1);
    if (words !== null) return `${at}${withSource(words, said, depth)}`;
  }
  return null;
}

function wordsOfText(text: string, depth: number): string | null {
  if (!/[\p{L}\p{N}]/u.test(text) || /^(?:null|true|false|undefined|[\d.]+)$/.test(text)) return null;
  if (isWebPage(text)) return `a web page${titleOf(text)}`;
  if (!/^[[{"]/.test(text)) return text;
  const value = jsonOf(text);
  return value === undefined ? text : wordsIn(value, depth + 1);
}

/** Adds the provider's message, which routers put into `metadata.raw`. */
function withSource(words: string, { metadata }: PlainMap, depth: number): string {
  const source = isPlainMap(metadata) ? wordsIn(metadata['raw'], depth + 1) : null;
  return source === null || source === words ? words : `${words}: ${source}`;
}

/** The place in the request where FastAPI found the error. */
function placeOf(loc: unknown): string {
  return Array.isArray(loc) && loc.length > 0 && loc.length < 20 ? `${loc.map(String).join('.')}: ` : '';
}

function titleOf(page: string): string {
  const title = /<title[^>]{0,200}>([^<]{1,200})/i.exec(page.slice(0, 20_000))?.[1]?.replace(/\s+/g, ' ').trim() ?? '';
  return title === '' ? '' : ` ('${title}')`;
}
