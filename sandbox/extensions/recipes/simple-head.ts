/**
 * Reads the frontmatter that nearly every recipe has: keys, plain or quoted texts of one line, and maps below them.
 * null: only YAML can tell, which costs far more to load.
 */
export function readSimpleHead(head: string, firstLine: number): HeadValue | null {
  const lines = head.split('\n');
  if (lines.at(-1) === '') lines.pop();
  const read = readMap(lines, 0, 0, firstLine);
  return read === null || read.next < lines.length ? null : read.value;
}

const LINE = /^( *)([A-Za-z_][A-Za-z0-9_-]*):(?: +(\S.*?))? *$/;
const PLAIN = /^[A-Za-z0-9](?:[^:#\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]|:(?=[^\s\p{Cc}\p{Cf}\p{Cs}]))*$/u;
const QUOTED = /^(?:"([^"\\\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]*)"|'([^'\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]*)')$/u;

function readMap(lines: readonly string[], from: number, indent: number, firstLine: number): { value: HeadValue; next: number } | null {
  const entries: HeadEntry[] = [];
  let at = from;
  while (at < lines.length) {
    const [, spaces = '', key = '', written] = LINE.exec(lines[at] ?? '') ?? [];
    if (key === '' || spaces.length > indent || /^(?:null|true|false)$/i.test(key)) return null;
    if (spaces.length < indent) break;
    if (entries.some((entry) => entry.key === key)) return null;
    const place = { line: firstLine + at, column: indent + 1 };
    let value: HeadValue;
    at += 1;
    if (written !== undefined) {
      const text = scalar(written);
      if (text === null) return null;
      value = { text, entries: null, items: null, ...place };
    } else {
      const below = /^ */.exec(lines[at] ?? '')?.[0].length ?? 0;
      const map = at < lines.length && below > indent ? readMap(lines, at, below, firstLine) : null;
      if (map === null && at < lines.length && below > indent) return null;
      value = map?.value ?? { text: null, entries: null, items: null, ...place };
      at = map?.next ?? at;
    }
    entries.push({ key, ...place, value });
  }
  if (entries.length === 0) return null;
  const [{ line, column }] = entries as [HeadEntry];
  return { value: { text: null, entries, items: null, line, column }, next: at };
}

function scalar(written: string): string | null {
  const [, double, single] = QUOTED.exec(written) ?? [];
  if (double !== undefined || single !== undefined) return double ?? single ?? null;
  return PLAIN.test(written) && !/^null$/i.test(written) ? written : null;
}

/** A value of a frontmatter: text as it is written, whatever YAML would make of it, or entries. Lines and columns count from 1. */
export interface HeadValue {
  /** null: nothing is written, or it is a map or list. */
  readonly text: string | null;
  readonly entries: readonly HeadEntry[] | null;
  readonly items: readonly HeadValue[] | null;
  readonly line: number;
  readonly column: number;
}

export interface HeadEntry {
  readonly key: string;
  readonly line: number;
  readonly column: number;
  readonly value: HeadValue;
}

/** Why a text is no frontmatter, and where. */
export interface HeadProblem {
  readonly problem: string;
  readonly line: number;
  readonly column: number;
}
