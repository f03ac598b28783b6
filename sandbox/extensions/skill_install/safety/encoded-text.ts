import { excerpt, type Hit, lineCounter, type Scanner } from './scan-finding.ts';

/** Shorter ones are words; what is cut into pieces of this length is one text. */
const RUN = /[A-Za-z0-9+/_-]{16,}={0,2}/g;
/** By themselves shorter ones are digests, keys and names. */
const ALONE = 40;
/** Of a blob that nobody can read, it is reported from this length on. */
const LONG = 1024;
/** Characters of a blob that are decoded at once. */
const DECODED = 64 * 1024;
/** So often is a text looked at that was encoded again. */
const DEEPEST = 3;
/** Characters that are found, and decoded, between two pauses. */
const AT_ONCE = 64 * 1024;
const ESCAPES = /(?:\\x[0-9a-fA-F]{2}){24,}|(?:\\u00[0-9a-fA-F]{2}){24,}|(?:%[0-9a-fA-F]{2}){40,}/g;
const CODE =
  /https?:\/\/|\bcurl\b|\bwget\b|#!\/|\bimport (?:os|sys|socket|subprocess|requests|base64)\b|\b(?:exec|eval|system|popen|spawn|execSync|Invoke-Expression|DownloadString|iex)\s*[( ]|\brequire\s*\(|child_process|os\.environ|process\.env|\/bin\/(?:ba)?sh|powershell|\/dev\/tcp|<script|\bignore (?:all |any )?(?:previous|prior|the)\b/i;
const PROGRAM = /^(?:\x7fELF|MZ|\xcf\xfa\xed\xfe|\xca\xfe\xba\xbe)/;
/** Pictures and fonts are written in their page. */
const MEDIA = /data:(?:image|font|audio|video|application\/(?:font|x-font|vnd\.ms-fontobject))[\w/+.;=-]{0,60},$/;

/** Encoded texts: `high` where they decode to a program, `medium` where they are long and cannot be read. One finding a blob. */
export const encodedText: Scanner = function* ({ text }) {
  const line = lineCounter(text);
  const isMuch = muchCounter();
  for (const blob of blobs(text)) {
    if (isMuch(blob.whole.length)) yield null;
    const verdict = yield* hitFor(blob, MEDIA.test(text.slice(Math.max(0, blob.at - 100), blob.at)), isMuch);
    if (verdict !== null) yield { ...verdict, line: line(blob.at) };
  }
  const escapeLine = lineCounter(text);
  for (const match of text.matchAll(ESCAPES)) {
    const decoded = match[0].replace(/\\x|\\u00|%/g, '');
    const hit = yield* programIn(decoded, 'hex', isMuch);
    const severity = hit === null ? 'medium' : 'high';
    const code = hit === null ? 'encoded_blob' : 'encoded_program';
    yield { severity, code, line: escapeLine(match.index), message: hit ?? `spells ${match[0].length} characters as escapes` };
  }
};

interface Blob {
  readonly at: number;
  readonly parts: readonly string[];
  readonly whole: string;
}

/** Whether a pause is due, after so many characters more. */
type IsMuch = (more: number) => boolean;

function muchCounter(): IsMuch {
  let length = 0;
  return (more) => {
    length += more;
    if (length <= AT_ONCE) return false;
    length = more;
    return true;
  };
}

/** Runs of the alphabet of base64; those that follow each other, in lines or in a list, are one. */
function* blobs(text: string): Iterable<Blob> {
  let open: { at: number; parts: string[]; end: number } | null = null;
  for (const match of text.matchAll(RUN)) {
    const at = match.index;
    const follows = open !== null && at - open.end <= 12 && /^["'+,\\\s#]*$/.test(text.slice(open.end, at));
    if (open !== null && follows) open.parts.push(match[0]);
    else {
      if (open !== null) yield { ...open, whole: open.parts.join('') };
      open = { at, parts: [match[0]], end: 0 };
    }
    open.end = at + match[0].length;
  }
  if (open !== null) yield { ...open, whole: open.parts.join('') };
}

function* hitFor({ parts, whole }: Blob, media: boolean, isMuch: IsMuch): Generator<null, Omit<Hit, 'line'> | null> {
  for (const one of parts.length === 1 ? parts : [whole, ...parts]) {
    if (one.length < ALONE) continue;
    const isHex = /^[0-9a-fA-F]+$/.test(one);
    const found = (yield* programIn(one, 'base64', isMuch)) ?? (isHex ? yield* programIn(one, 'hex', isMuch) : null);
    if (found !== null) return { severity: 'high', code: 'encoded_program', message: found };
  }
  const long = parts.filter((part) => part.length >= ALONE).join('');
  if (media || long.length < LONG || !looksEncoded(long)) return null;
  return { severity: 'medium', code: 'encoded_blob', message: `has ${long.length} characters of encoded data that nobody can read` };
}

/** What an encoded text is when it is a program, or null. */
function* programIn(encoded: string, how: 'base64' | 'hex', isMuch: IsMuch, depth = 1): Generator<null, string | null> {
  for (let from = 0; from < encoded.length; from += DECODED) {
    const piece = encoded.slice(from, from + DECODED);
    if (isMuch(piece.length)) yield null;
    const bytes = Buffer.from(piece, how);
    const found = program(bytes);
    if (found !== null) return found;
    const inner = depth < DEEPEST && /^[A-Za-z0-9+/_=\s-]{40,}$/.test(bytes.toString('latin1'));
    const again = inner ? yield* programIn(bytes.toString('latin1').replace(/\s+/g, ''), 'base64', isMuch, depth + 1) : null;
    if (again !== null) return again;
  }
  return null;
}

/** What the bytes are when they are a program, or null. UTF-16 is what PowerShell encodes. */
function program(bytes: Buffer): string | null {
  const raw = bytes.toString('latin1');
  if (PROGRAM.test(raw) && bytes.length > 64 && raw.includes('\0')) return 'contains an encoded program';
  const text = raw.includes('\0') ? raw.replaceAll('\0', '') : raw;
  const readable = text.replace(/[^\t\n\r\x20-\x7e]/g, '');
  if (readable.length < text.length * 0.9 || readable.length < 16) return null;
  const found = CODE.exec(readable);
  return found === null ? null : `contains an encoded program: ${excerpt(readable.slice(Math.max(0, found.index - 20), found.index + 80))}`;
}

/** Words, paths and underlines have no mix of cases and digits. */
function looksEncoded(blob: string): boolean {
  return /[a-z]/.test(blob) && /[A-Z]/.test(blob) && /[0-9]/.test(blob) && new Set(blob.slice(0, 512)).size > 24;
}
