import { HOLDS_TEXT, type Field } from './finding.ts';

/**
 * Reads the frontmatter that most skills have: `key: value` lines, lists and maps of plain values one level deep.
 * Returns null for anything whose meaning is not certain; then YAML decides. What it returns is what YAML would.
 */
export function readSimple(head: string, firstLine: number): Map<string, Field> | null {
  const fields = new Map<string, Field>();
  let index = 0;
  let line = firstLine;
  while (index < head.length) {
    const end = lineEnd(head, index);
    const colon = head.indexOf(':', index);
    if (colon === -1 || colon >= end) return null;
    const key = head.slice(index, colon);
    if (!KEY.test(key) || WORDS.has(key.toLowerCase()) || fields.has(key)) return null;
    const at = line;
    let value: Scalar | null;
    let flow = false;
    if (colon + 1 === end) {
      const block = readBlock(head, end + 1, HOLDS_TEXT.has(key));
      if (block === null) return null;
      value = { value: block.value };
      index = block.end;
      line += 1 + block.lines;
    } else {
      if (head.charCodeAt(colon + 1) !== SPACE) return null;
      const text = head.slice(colon + 2, end);
      flow = text.charCodeAt(0) === BRACKET;
      value = flow ? readFlowList(text) : readScalar(text);
      index = end + 1;
      line += 1;
    }
    if (value === null) return null;
    const field: { -readonly [Key in keyof Field]: Field[Key] } = { value: value.value, line: at, column: 1 };
    if (value.source !== undefined) field.source = value.source;
    if (flow) field.flow = true;
    fields.set(key, field);
  }
  return fields.size === 0 ? null : fields;
}

interface Scalar {
  readonly value: unknown;
  readonly source?: string;
}

const SPACE = 32;
const BRACKET = 91;
const KEY = /^[A-Za-z_][\w-]*$/;
/** Words that YAML reads as something else than text, in any case. */
const WORDS = new Set(['null', 'true', 'false']);
/** Begins with a letter or digit and holds nothing that could end, comment or nest. */
const PLAIN = /^[\p{L}\d](?:[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}:#]|:(?=[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs} ])|(?<! )#)*$/u;
const DOUBLE = /^"([^"\\\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]*)" *$/u;
const SINGLE = /^'((?:[^'\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]|'')*)' *$/u;
const NUMBER_LIKE = /^\d/;
const WHOLE = /^(?:0|[1-9]\d{0,14})$/;
const DECIMAL = /^(?:0|[1-9]\d{0,8})\.\d{1,6}$/;
/** Digits with letters or further dots that no number of the core schema looks like: versions, dates, `3d`. */
const TEXT_WITH_DIGITS = /^(?:\d+\.\d+\.\d[^ ]*|\d+-\d+-\d+)$/;
const FLOW_LIST = /^\[ *([A-Za-z][\w./-]*(?: [\w./-]+)*(?: *, *[A-Za-z][\w./-]*(?: [\w./-]+)*)*) *\] *$/;

function lineEnd(text: string, from: number): number {
  const end = text.indexOf('\n', from);
  return end === -1 ? text.length : end;
}

function readScalar(written: string): Scalar | null {
  const first = written.charCodeAt(0);
  if (first === 34) return quoted(DOUBLE.exec(written));
  if (first === 39) return quoted(SINGLE.exec(written), true);
  const text = trimEnd(written);
  if (!PLAIN.test(text)) return null;
  if (NUMBER_LIKE.test(text)) {
    if (WHOLE.test(text) || DECIMAL.test(text)) return { value: Number(text), source: text };
    return TEXT_WITH_DIGITS.test(text) ? { value: text } : null;
  }
  if (text.length <= 5 && WORDS.has(text.toLowerCase())) {
    return text === 'true' || text === 'false' ? { value: text === 'true', source: text } : null;
  }
  return { value: text };
}

function quoted(match: RegExpExecArray | null, single = false): Scalar | null {
  if (match === null) return null;
  const text = match[1] ?? '';
  return { value: single && text.includes("'") ? text.replaceAll("''", "'") : text };
}

function readFlowList(text: string): Scalar | null {
  const match = FLOW_LIST.exec(text);
  if (match === null) return null;
  const items = (match[1] ?? '').split(/ *, */);
  return items.some((item) => WORDS.has(item.toLowerCase())) ? null : { value: items };
}

/** A list of `- item` or a map of `key: value`, every line equally indented, until the next line at the margin. */
function readBlock(
  head: string,
  from: number,
  asText: boolean,
): { readonly value: unknown; readonly end: number; readonly lines: number } | null {
  let index = from;
  let lines = 0;
  let indent = -1;
  let list: unknown[] | null = null;
  let map: Map<string, unknown> | null = null;
  while (index < head.length) {
    let start = index;
    while (head.charCodeAt(start) === SPACE) start += 1;
    const dash = head.startsWith('- ', start);
    if (start === index && !dash) break;
    if (indent === -1) indent = start - index;
    if (start - index !== indent) return null;
    const end = lineEnd(head, start);
    if (dash) {
      if (map !== null) return null;
      const item = readScalar(head.slice(start + 2, end));
      if (item === null) return null;
      (list ??= []).push(asText ? (item.source ?? item.value) : item.value);
    } else {
      if (list !== null) return null;
      const colon = head.indexOf(': ', start);
      if (colon === -1 || colon >= end) return null;
      const key = head.slice(start, colon);
      if (!KEY.test(key) || WORDS.has(key.toLowerCase())) return null;
      const value = readScalar(head.slice(colon + 2, end));
      map ??= new Map();
      if (value === null || map.has(key)) return null;
      map.set(key, asText ? (value.source ?? value.value) : value.value);
    }
    index = end + 1;
    lines += 1;
  }
  const value = list ?? (map === null ? null : Object.fromEntries(map));
  return value === null ? null : { value, end: index, lines };
}

function trimEnd(text: string): string {
  let end = text.length; // a pattern would look for the end from each space of a long row
  while (text.charCodeAt(end - 1) === SPACE) end -= 1;
  return text.slice(0, end);
}
