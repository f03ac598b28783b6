import { guardedYaml } from '@pith/guarded-yaml';
import { isAlias, isMap, isScalar, isSeq, type Node } from 'yaml';

const DEEPEST = 8;
const MOST = 1000;

/** A value of a frontmatter: text as written, or entries. Lines and columns count from 1. */
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

/** Why a text is not frontmatter, and where. */
export interface HeadProblem {
  readonly problem: string;
  readonly line: number;
  readonly column: number;
}

/** Reads a frontmatter as YAML 1.2. Aliases are not followed. Never throws. */
export function readHead(head: string, firstLine: number): HeadValue | HeadProblem {
  const { document, refused, lines } = guardedYaml(head, { uniqueKeys: false });
  const place = (offset: number) => {
    const { line, col } = lines.linePos(offset);
    return { line: firstLine + Math.max(0, line - 1), column: Math.max(1, col) };
  };
  if (refused !== null) return { problem: `it has ${refused.excess}`, ...place(refused.offset) };
  try {
    const error = document.errors[0];
    if (error) return { problem: error.message, ...place(error.pos[0]) };
    if (!isMap(document.contents)) return { problem: 'it is not a list of `key: value`', line: firstLine, column: 1 };
    return new Reader(place).read(document.contents, 0);
  } catch (error) {
    return { problem: error instanceof TooMuch ? error.message : String(error), line: firstLine, column: 1 };
  }
}

class TooMuch extends Error {}

class Reader {
  #count = 0;
  constructor(private readonly place: (offset: number) => { line: number; column: number }) {}

  read(node: Node | null, depth: number): HeadValue {
    this.#count += 1;
    if (depth > DEEPEST || this.#count > MOST) throw new TooMuch('it has far more than a recipe needs');
    const at = this.place(node?.range?.[0] ?? 0);
    const value: HeadValue = { text: null, entries: null, items: null, ...at };
    if (node === null || isAlias(node)) return value;
    if (isScalar(node)) return { ...value, text: textOf(node) };
    if (isSeq(node)) return { ...value, items: node.items.map((item) => this.read(item as Node | null, depth + 1)) };
    if (!isMap(node)) return value;
    const entries = node.items.map((pair): HeadEntry => {
      const key = pair.key as Node | null;
      const name = isScalar(key) ? (textOf(key) ?? '') : '';
      return { key: name, ...this.place(key?.range?.[0] ?? 0), value: this.read(pair.value as Node | null, depth + 1) };
    });
    return { ...value, entries };
  }
}

function textOf({ value, source }: { value: unknown; source?: string }): string | null {
  if (value === null || value === undefined) return null;
  return typeof value === 'string' ? value : (source ?? String(value));
}
