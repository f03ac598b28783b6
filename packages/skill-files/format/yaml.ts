import { guardedYaml } from '@pith/guarded-yaml';
import { isAlias, isMap, isScalar, isSeq, type Node } from 'yaml';
import { type Field, type Finding, HOLDS_TEXT } from './finding.ts';

/** The most aliases in a frontmatter, and the most values that they expand to. */
const ALIAS_LIMIT = 100;
const VALUE_LIMIT = 10_000;
/** Far more than people write: public skills have a few dozen. */
const LEXEME_LIMIT = 4096;

export interface YamlReading {
  readonly fields: Map<string, Field>;
  readonly findings: readonly Finding[];
}

/** Why the text is not usable YAML. `line` and `column` are those of the file. */
export interface YamlFailure {
  readonly failure: Finding;
}

/** Parses frontmatter as YAML 1.2, core schema, ignoring tags. Never throws. */
export function readYaml(head: string, firstLine: number): YamlReading | YamlFailure {
  try {
    const { document, refused, lines } = guardedYaml(head, { uniqueKeys: false, resolveKnownTags: false, lexemes: LEXEME_LIMIT });
    const place = (offset: number) => {
      const { line, col } = lines.linePos(offset);
      return { line: firstLine + line - 1, column: col };
    };
    if (refused !== null) return { failure: { code: 'yaml_too_large', detail: refused.excess, ...place(refused.offset) } };
    const error = document.errors[0];
    if (error) return { failure: { code: 'yaml_invalid', detail: error.message, ...place(error.pos[0]) } };
    const root = document.contents;
    if (!isMap(root)) return { failure: { code: 'frontmatter_no_map', detail: '', line: firstLine, column: 1 } };
    const reader = new Reader(head, place);
    const fields = new Map<string, Field>();
    const twice = new Set<string>();
    for (const pair of root.items) {
      const key = reader.keyOf(pair.key);
      const node = pair.value as Node | null;
      const at = place((pair.key as Node | null)?.range?.[0] ?? 0);
      if (fields.has(key) && !twice.has(key)) reader.findings.push({ code: 'duplicate_key', detail: key, ...at });
      if (fields.has(key)) twice.add(key);
      fields.set(key, { value: reader.valueOf(node, 0, HOLDS_TEXT.has(key)), ...at, ...reader.written(node) });
    }
    return { fields, findings: reader.findings };
  } catch (error) {
    const found = error instanceof TooMuch ? error.finding : { code: 'yaml_invalid', detail: String(error) };
    return { failure: { line: firstLine, column: 1, ...found } };
  }
}

class TooMuch extends Error {
  readonly finding: Finding;
  constructor(code: string, detail: string, at: { line: number; column: number }) {
    super(code);
    this.finding = { code, detail, ...at };
  }
}

/** Turns nodes into plain values. Counts what aliases repeat, so that no small text becomes a large value. */
class Reader {
  readonly findings: Finding[] = [];
  private readonly anchors = new Map<string, { value: unknown; weight: number }>();
  private aliases = 0;
  private weight = 0;

  constructor(
    private readonly head: string,
    private readonly place: (offset: number) => { line: number; column: number },
  ) {}

  keyOf(key: unknown): string {
    if (isScalar(key)) return typeof key.value === 'string' ? key.value : (key.source ?? '');
    const range = (key as Node | null)?.range;
    return range ? this.head.slice(range[0], range[1]) : '';
  }

  valueOf(node: Node | null, depth: number, asText: boolean): unknown {
    const before = this.weight;
    this.spend(1, node);
    const value = this.plainValue(node, depth, asText);
    if (node && !isAlias(node) && node.anchor) this.anchors.set(node.anchor, { value, weight: this.weight - before });
    return value;
  }

  /** What a text field needs of a value that is not a string. */
  written(node: Node | null): { source?: string; flow?: boolean } {
    if (node === null || isAlias(node)) return {};
    if (isScalar(node)) return typeof node.value === 'string' || node.value === null ? {} : { source: node.source ?? String(node.value) };
    const range = node.range;
    const flow = (isMap(node) || isSeq(node)) && node.flow === true;
    return flow && range ? { flow, source: this.head.slice(range[0], range[1]) } : {};
  }

  private plainValue(node: Node | null, depth: number, asText: boolean): unknown {
    if (node === null) return null;
    if (isAlias(node)) return this.follow(node.source, node);
    if (isScalar(node)) return scalarValue(node, asText && depth > 0);
    if (isSeq(node)) return node.items.map((item) => this.valueOf(item as Node | null, depth + 1, asText));
    if (!isMap(node)) return null;
    const entries = new Map<string, unknown>();
    for (const pair of node.items) {
      const key = this.keyOf(pair.key);
      if (entries.has(key)) this.findings.push({ code: 'duplicate_key', detail: key, ...this.at(pair.key as Node | null) });
      entries.set(key, this.valueOf(pair.value as Node | null, depth + 1, asText));
    }
    return Object.fromEntries(entries); // defines own properties, also for `__proto__`
  }

  private follow(name: string, node: Node): unknown {
    this.aliases += 1;
    if (this.aliases > ALIAS_LIMIT) throw new TooMuch('yaml_too_large', `more than ${ALIAS_LIMIT} aliases`, this.at(node));
    const target = this.anchors.get(name);
    if (!target) throw new TooMuch('yaml_invalid', `the alias *${name} refers to itself or to nothing before it`, this.at(node));
    this.spend(target.weight, node);
    return target.value;
  }

  private spend(weight: number, node: Node | null): void {
    this.weight += weight;
    if (this.weight > VALUE_LIMIT) throw new TooMuch('yaml_too_large', `more than ${VALUE_LIMIT} values`, this.at(node));
  }

  private at(node: Node | null): { line: number; column: number } {
    return this.place(node?.range?.[0] ?? 0);
  }
}

/** Ignores a scalar's tag; a number that JSON cannot represent stays text. */
function scalarValue(node: { value: unknown; source?: string; tag?: string }, asText: boolean): unknown {
  const { value, source, tag } = node;
  if (typeof value === 'string' || value === null) return value;
  if (asText || tag !== undefined) return source ?? String(value);
  if (typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value))) return value;
  return source ?? String(value);
}
