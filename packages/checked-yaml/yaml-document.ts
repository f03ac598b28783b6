import { guardedYaml } from '@pith/guarded-yaml';
import { isMap, isSeq, type Alias, type Document, type Node, type Pair, type Scalar } from 'yaml';
import type { Finding } from './findings.ts';
import type { Position, Positions } from './positions.ts';

/** A parsed YAML text: its value, and the position of each part. */
export interface YamlDocument {
  /** undefined when the text cannot be read; null when it is empty. Present although keys are duplicate, if that is the only finding. */
  readonly value: unknown;
  readonly positions: Positions;
  readonly diagnostics: readonly Finding[];
}

export interface YamlOptions {
  /** The file that diagnostics name. */
  readonly file: string;
  /** The code of findings: `manifest_invalid`, `settings_invalid`. */
  readonly code: string;
  /** The line of the file on which the text begins, from 1. */
  readonly firstLine?: number;
  readonly maxBytes?: number;
}

const MAX_YAML_BYTES = 64 * 1024;
const MAX_ALIASES = 100;

/** Parses a text. Importing this module loads the YAML parser. */
export function parseYaml(text: string, options: YamlOptions): YamlDocument {
  const maxBytes = options.maxBytes ?? MAX_YAML_BYTES;
  if (Buffer.byteLength(text) > maxBytes) {
    return unusable(finding(options, null, `has more than ${maxBytes} bytes`, 'Shorten the file'));
  }
  const { document, refused, secondAt, lines } = guardedYaml(text, { uniqueKeys: false });
  const locate = (offset: number) => at(lines.linePos(offset), options.firstLine ?? 1);
  if (refused !== null)
    return unusable(finding(options, locate(refused.offset), `cannot be read as YAML: it has ${refused.excess}`, 'write it flatter'));
  if (secondAt >= 0 && document.errors.length === 0)
    return unusable(finding(options, locate(secondAt), "has a second document after '---'", 'keep one document a file'));
  try {
    return read(document, locate, options);
  } catch (error) {
    return unusable(finding(options, null, `cannot be read as YAML: ${error instanceof Error ? error.message : String(error)}`));
  }
}

type Locate = (offset: number) => Position;

function read(document: Document.Parsed, locate: Locate, options: YamlOptions): YamlDocument {
  const diagnostics: Finding[] = [];
  const [error] = document.errors; // the later errors mostly follow from the first
  if (error) {
    diagnostics.push(finding(options, locate(error.pos[0]), `is not valid YAML: ${firstLine(error.message)}`, 'correct the syntax'));
  }
  for (const warning of document.warnings) {
    diagnostics.push({ ...finding(options, locate(warning.pos[0]), firstLine(warning.message)), severity: 'warning' });
  }
  if (document.errors.length > 0) return { value: undefined, positions: {}, diagnostics };

  const positions: Record<string, readonly [number, number]> = Object.create(null);
  const note = (path: string, node: Node | null | undefined) => {
    const place = node?.range ? locate(node.range[0]) : null;
    if (place !== null) positions[path] ??= [place.line, place.column];
    return place;
  };
  const walk = (node: unknown, path: string): void => {
    if (isMap(node)) {
      const seen = new Set<string>();
      for (const pair of node.items as Pair<Scalar | Alias, Node>[]) {
        const key = keyOf(pair.key);
        const inner = path === '' ? key : `${path}.${key}`;
        const place = note(inner, pair.key);
        if (seen.has(key)) diagnostics.push(finding(options, place, `has the key '${inner}' twice`, 'keep one of them'));
        if (key === '__proto__') diagnostics.push(finding(options, place, `has a key that is not allowed: '${inner}'`, 'remove it'));
        seen.add(key);
        walk(pair.value, inner);
      }
    } else if (isSeq(node)) {
      node.items.forEach((item, index) => {
        const inner = path === '' ? String(index) : `${path}.${index}`;
        note(inner, item as Node);
        walk(item, inner);
      });
    }
  };
  walk(document.contents, '');
  const value: unknown = document.toJS({ maxAliasCount: MAX_ALIASES });
  const cycle = cycleIn(value);
  if (cycle === null) return { value, positions: { ...positions }, diagnostics };
  const [line, column] = positions[cycle.join('.')] ?? [options.firstLine ?? 1, 1];
  const message = `contains itself at '${cycle.join('.')}': the alias names what it is part of`;
  diagnostics.push(finding(options, { line, column }, message, 'write the value out'));
  return { value: undefined, positions: { ...positions }, diagnostics };
}

/** The path of a value that contains itself; null when none does. */
function cycleIn(value: unknown, path: readonly string[] = [], above: readonly unknown[] = []): readonly string[] | null {
  if (typeof value !== 'object' || value === null) return null;
  if (above.includes(value)) return path;
  for (const [key, part] of Object.entries(value)) {
    const found = cycleIn(part, [...path, key], [...above, value]);
    if (found !== null) return found;
  }
  return null;
}

function keyOf(key: unknown): string {
  const value = typeof key === 'object' && key !== null && 'value' in key ? key.value : key;
  return String(value);
}

function at(place: { line: number; col: number }, first: number): Position {
  return { line: place.line + first - 1, column: place.col };
}

function firstLine(message: string): string {
  return message.split('\n', 1)[0]!.replace(/:$/, '');
}

function finding(options: YamlOptions, place: Position | null, message: string, cure?: string): Finding {
  return {
    severity: 'error',
    code: options.code,
    message,
    file: options.file,
    line: place?.line ?? options.firstLine ?? 1,
    column: place?.column ?? 1,
    ...(cure === undefined ? {} : { cure }),
  };
}

function unusable(diagnostic: Finding): YamlDocument {
  return { value: undefined, positions: {}, diagnostics: [diagnostic] };
}
