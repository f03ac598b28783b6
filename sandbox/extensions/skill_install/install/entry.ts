import { PithError } from 'pith';
import { printableLine } from '@pith/plain-text';
import { SKILL_LIMITS } from '@pith/skill-files';

/** What may be installed at once. */
export const LIMITS = {
  ...SKILL_LIMITS,
  /** Entries of a repository or folder that are looked at to find the skills among them. */
  listed: 50_000,
  /** Unpacked to packed. */
  ratio: 100,
} as const;

/** One thing that an origin holds. */
export interface OriginEntry {
  /** Relative to the origin, with `/`; checked by `checkNames`. */
  readonly path: string;
  readonly kind: 'file' | 'link' | 'other';
  readonly size: number;
  readonly executable: boolean;
  /** Where a link leads, if that is known without reading it. */
  readonly target?: string;
}

/** What an origin holds at one moment. */
export interface Listing {
  readonly entries: readonly OriginEntry[];
  /** Of a git origin. */
  readonly commit: string | null;
  /** What a skill at the top is called: a folder's own name, or a repository's or archive's, which counts only where the skill says no other. */
  readonly name: { readonly text: string; readonly sure: boolean };
  /** The bytes of these entries, in whatever order. The receiver counts them. */
  read(entries: readonly OriginEntry[]): AsyncIterable<{ readonly entry: OriginEntry; readonly chunks: AsyncIterable<Uint8Array> }>;
}

/** A whole file, without a byte order mark. Throws `origin_refused` for what is no regular file of so many bytes with UTF-8 text. */
export async function readText(listing: Listing, entry: OriginEntry, most: number): Promise<string> {
  const name = printableLine(entry.path);
  if (entry.kind !== 'file' || entry.size > most) throw refused(`its ${name} is not a regular file of at most ${most / 1024} KiB`);
  const parts: Uint8Array[] = [];
  for await (const { chunks } of listing.read([entry])) for await (const chunk of chunks) parts.push(chunk);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(parts));
  } catch (error) {
    throw new PithError('origin_refused', `its ${name} is not UTF-8 text`, { cause: error, cure: 'save it as UTF-8' });
  }
}

export function refused(what: string, cure = 'ask its author to fix it'): PithError {
  return new PithError('origin_refused', what, { cure });
}

/** Throws `origin_refused` for names that lead elsewhere, that some systems cannot store, or that fall together on some. */
export function checkNames(paths: Iterable<string>): void {
  const taken = new Map<string, string>();
  for (const path of paths) {
    const problem = problemOf(path);
    if (problem !== null) throw refused(`it contains '${printableLine(path)}', a name that ${problem}`);
    const parts = path.split('/');
    for (let depth = 1; depth <= parts.length; depth++) {
      const name = parts.slice(0, depth).join('/');
      const last = depth === parts.length;
      // A trailing slash tells folders from files; folders may come again.
      const own = last ? name : `${name}/`;
      const key = folded(name);
      const before = taken.get(key);
      if (before === undefined) taken.set(key, own);
      else if (before !== own || last)
        throw refused(`it contains ${JSON.stringify(path)} and ${JSON.stringify(before)}, which are one name on some systems`);
    }
  }
}

/** As systems compare names that tell neither case nor composition apart. */
export function folded(name: string): string {
  return name
    .normalize('NFKC')
    .replace(/\p{Cf}/gu, '')
    .toLowerCase()
    .toUpperCase()
    .toLowerCase()
    .normalize('NFKC');
}

export const RESERVED = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i;

function problemOf(path: string): string | null {
  if (path === '' || path.length > 1024) return 'is empty or too long';
  if (path.startsWith('/') || path.startsWith('~') || /^[A-Za-z]:/.test(path)) return 'is absolute';
  if (path.includes('\\')) return 'has a backslash, or is not UTF-8';
  const parts = path.split('/');
  if (parts.length > LIMITS.depth) return 'lies too deep';
  for (const part of parts) {
    if (part === '' || part === '.' || part === '..') return 'leads elsewhere';
    if (Buffer.byteLength(part) > 255) return 'is too long';
    if (/^(?:\.git|git~\d+)$/.test(folded(part))) return 'git takes for a repository, whose settings name programs to run';
    if (/[:<>"|?*]/.test(part) || /[. ]$/.test(part) || RESERVED.test(part)) return 'some systems cannot store';
  }
  if (printableLine(path) !== path || path.includes('\ufffd')) return 'has control characters or others that nobody sees, or is not UTF-8';
  return null;
}
