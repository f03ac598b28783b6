import { slipsOf } from '@pith/plain-text';
import { isPlainMap } from '@pith/plain-data';
import { LISTS, MAPS, textOf, type Field, type Fields, type Finding } from './finding.ts';

/** The facts that checks use. */
export interface Facts {
  readonly id: string;
  readonly fileName: string;
  readonly fields: Fields;
  /** The size of the whole SKILL.md in bytes. */
  readonly size: number;
  /** Estimated from the size. */
  readonly bodyTokens: number;
}

/** A check's finding: the place, and what the message names. */
export type Hit = Omit<Finding, 'code'>;
export type Check = (facts: Facts) => Iterable<Hit>;

export const TRIGGER_KINDS = ['keywords', 'verbs', 'patterns'] as const;
/** How to write fields that are not plain lists. */
const EXAMPLES: ReadonlyMap<string, string> = new Map([
  ['metadata', '`metadata:` and below it a line such as `  author: …` for each'],
  ['triggers', '`triggers:`, below it `  keywords:`, and below that a line `    - …` for each'],
  ['allowed-tools', '`allowed-tools: Read Write`'],
  ['default_enabled', '`default_enabled: false`'],
  ['scripts', '`scripts:` and below it a line such as `  - path: scripts/count.py` for each'],
]);
const TEXTS = ['name', 'description', 'version', 'license', 'compatibility', 'brief_description'];
const SEMVER = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$/;

export function largerThan(limit: number): Check {
  return ({ size }) => (size > limit ? [{ detail: String(size), line: 1, column: 1 }] : []);
}

export function bodyAbove(limit: number): Check {
  return ({ bodyTokens }) => (bodyTokens > limit ? [{ detail: String(bodyTokens) }] : []);
}

export function fileNameIsNot(name: string): Check {
  return ({ fileName }) => (fileName === name ? [] : [{ detail: fileName }]);
}

export function missing(key: string): Check {
  return ({ fields }) => (textOf(fields.get(key))?.trim() ? [] : [{ detail: '', ...placeOf(fields, key) }]);
}

/** A check of the name in its compared form: trimmed, NFKC. Another rule reports a missing name. */
export function nameIs(broken: (name: string, id: string) => boolean): Check {
  return ({ fields, id }) => {
    const name = textOf(fields.get('name'))?.trim().normalize('NFKC');
    return name && broken(name, id) ? [{ detail: name, ...placeOf(fields, 'name') }] : [];
  };
}

/** Counts characters, not code units. From `below` on, another rule reports it. */
export function longerThan(key: string, limit: number, below = Infinity): Check {
  return ({ fields }) => {
    const text = textOf(fields.get(key));
    if (text === null || text.length <= limit) return [];
    const count = [...text].length;
    return count > limit && count <= below ? [{ detail: String(count), ...placeOf(fields, key) }] : [];
  };
}

export function unknownTo(known: ReadonlySet<string>): Check {
  return ({ fields }) => {
    const unknown = [...fields.keys()].filter((key) => !known.has(key) && slipOf(key, known) === null);
    return unknown.length === 0 ? [] : [{ detail: unknown.join(', '), ...placeOf(fields, unknown[0]!) }];
  };
}

/** `clients` maps a field to the clients that read it. */
export function readByOthers(clients: ReadonlyMap<string, readonly string[]>): Check {
  return ({ fields }) => {
    const found = [...fields.keys()].filter((key) => clients.has(key));
    const listed = found.map((key) => `${key} (${clients.get(key)!.join(', ')})`);
    return found.length === 0 ? [] : [{ detail: listed.join(', '), ...placeOf(fields, found[0]!) }];
  };
}

export function misspelt(known: ReadonlySet<string>): Check {
  return function* ({ fields }) {
    for (const [key, field] of fields) {
      const meant = known.has(key) ? null : slipOf(key, known);
      if (meant === null) continue;
      const counts = fields.get(meant) === field;
      const detail = counts ? `'${key}', which counts as '${meant}'` : `'${key}', which is ignored (did you mean '${meant}'?)`;
      yield { detail, wanted: `\`${meant}:\` in place of \`${key}:\``, ...placeOf(fields, key) };
    }
  };
}

/** Without one of these fields a skill may do more, or is offered to more. */
const SAFEGUARDS: ReadonlySet<string> = new Set(['allowed-tools', 'default_enabled', 'disable-model-invocation']);

/** The fields in which a misspelt safeguard counts as that safeguard, unless that is present too. */
export function withSafeguards(fields: Map<string, Field>): Map<string, Field> {
  for (const [key, field] of fields) {
    const meant = SAFEGUARDS.has(key) ? null : slipOf(key, SAFEGUARDS);
    if (meant !== null && !fields.has(meant)) fields.set(meant, field);
  }
  return fields;
}

/** The known name that differs from the key by a letter, or by two if it is long. Keys of other systems differ more. */
function slipOf(key: string, known: ReadonlySet<string>): string | null {
  return slipsOf(key, known, key.length < 6 ? 1 : 2)[0] ?? null;
}

export const wrongType: Check = function* ({ fields }) {
  const wrong = (key: string, form: string): Hit => ({
    detail: `a '${key}' that is not ${form}`,
    wanted: EXAMPLES.get(key) ?? `\`${key}:\` and below it a line \`  - …\` for each`,
    ...placeOf(fields, key),
  });
  const value = (key: string) => fields.get(key)?.value ?? undefined;
  for (const key of LISTS) if (value(key) !== undefined && !isTexts(value(key))) yield wrong(key, 'a list of texts');
  for (const key of MAPS) if (value(key) !== undefined && !isPlainMap(value(key))) yield wrong(key, 'a map');
  const tools = fields.get('allowed-tools');
  if (value('allowed-tools') !== undefined && !isTexts(tools?.value) && (typeof tools?.value === 'object' || textOf(tools) === null))
    yield wrong('allowed-tools', 'text or a list of texts');
  if (value('default_enabled') !== undefined && typeof value('default_enabled') !== 'boolean')
    yield wrong('default_enabled', 'true or false');
  if (value('scripts') !== undefined && !isScripts(value('scripts')))
    yield wrong('scripts', 'a list of paths, or of { path, description, env, timeout_s }');
  const triggers = value('triggers');
  if (isPlainMap(triggers))
    for (const kind of TRIGGER_KINDS) if (!isTexts(triggers[kind] ?? [])) yield wrong('triggers', `a map of lists; '${kind}' is not one`);
};

export const unknownTriggers: Check = ({ fields }) => {
  const triggers = fields.get('triggers')?.value;
  if (!isPlainMap(triggers)) return [];
  const unknown = Object.keys(triggers).filter((key) => !TRIGGER_KINDS.some((kind) => kind === key));
  return unknown.length === 0 ? [] : [{ detail: unknown.join(', '), ...placeOf(fields, 'triggers') }];
};

export const noText: Check = function* ({ fields }) {
  for (const key of TEXTS) {
    const field = fields.get(key);
    if (field && typeof field.value !== 'string' && field.source !== undefined) yield { detail: key, ...placeOf(fields, key) };
  }
};

export const noSemver: Check = ({ fields }) => {
  const version = textOf(fields.get('version'));
  return version === null || SEMVER.test(version) ? [] : [{ detail: version, ...placeOf(fields, 'version') }];
};

export const noToolset: Check = function* ({ fields }) {
  const toolsets = fields.get('toolsets')?.value;
  for (const toolset of isTexts(toolsets) ? toolsets : []) {
    if (!/^[^:]+:[A-Za-z_$][\w$]*$/.test(toolset)) yield { detail: toolset, ...placeOf(fields, 'toolsets') };
  }
};

export const flowStyle: Check = function* ({ fields }) {
  for (const [key, { flow, line, column }] of fields) if (flow) yield { detail: key, line, column };
};

export function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

function isScripts(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === 'string' || (isPlainMap(item) && isScript(item)));
}

const SCRIPT_KEYS = ['path', 'description', 'env', 'timeout_s'];

function isScript(item: Readonly<Record<string, unknown>>): boolean {
  const { path, description = '', env = [], timeout_s: seconds = 1 } = item;
  const isNames = isTexts(env) && env.every((name) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name));
  const isLimit = typeof seconds === 'number' && seconds > 0;
  return (
    typeof path === 'string' &&
    typeof description === 'string' &&
    isNames &&
    isLimit &&
    Object.keys(item).every((key) => SCRIPT_KEYS.includes(key))
  );
}

function placeOf(fields: Fields, key: string): { line: number; column: number } {
  const { line, column } = fields.get(key) ?? { line: 1, column: 1 };
  return { line, column };
}
