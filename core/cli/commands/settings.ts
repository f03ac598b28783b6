import { type CommandInput, type CommandIO, type JsonValue, PithError } from '../../contract/index.ts';
import { hideKeys, printableLine } from '@pith/plain-text';
import { isPlainMap, overlay, type PlainMap } from '@pith/plain-data';
import type { Kernel } from '../../compose/index.ts';
import { type Settings, unknownNames } from '../../declarations/index.ts';
import { findExtension } from './extensions.ts';
import { printTable } from './text.ts';

/** A setting that can be set. */
interface Row {
  /** As in pith.yaml. */
  readonly key: string;
  readonly value: unknown;
  /** Empty: it has its default. */
  readonly where: string;
  readonly description: string;
}

/** What can be set, with its schema for programs. What looks like a key of somebody is hidden. */
export async function showForm(kernel: Kernel, input: CommandInput, io: CommandIO): Promise<void> {
  const { id } = input.arguments;
  const extension = id === undefined ? null : findExtension(kernel, String(id)).id;
  const { setup } = kernel.host;
  const { schema, values } = extension === null ? await setup.pithForm(kernel.settings) : await setup.form(extension);
  const above = extension === null ? '' : `extensions.${extension}.`;
  const shown = withoutKeys(values) as PlainMap;
  const { origins } = kernel.settings;
  const whereOf = (key: string): string => origins[key] ?? Object.entries(origins).find(([each]) => each.startsWith(`${key}.`))?.[1] ?? '';
  const properties = propertiesOf(schema);
  const names = [...new Set([...Object.keys(properties), ...Object.keys(shown)])];
  const rows = names.map((name): Row => {
    const { description = '', default: fallback } = properties[name] ?? {};
    return { key: `${above}${name}`, value: shown[name] ?? fallback, where: whereOf(`${above}${name}`), description };
  });
  const set = Object.entries(origins).flatMap(([key, where]) => (names.some((name) => isBelow(key, above + name)) ? [{ key, where }] : []));
  io.json({ id: extension, schema, values: shown, set } as unknown as JsonValue);
  printTable(
    io,
    rows,
    [
      { title: 'SETTING', value: ({ key }) => printableLine(key) },
      { title: 'VALUE', value: ({ value }) => (value === undefined ? '' : printableLine(JSON.stringify(value), 60)) },
      { title: 'SET IN', value: ({ where }) => where },
      { title: 'FOR', value: ({ description }) => description, below: true },
    ],
    `${extension ?? 'Pith'} has no settings`,
  );
}

const isBelow = (key: string, name: string): boolean => key === name || key.startsWith(`${name}.`);

type Property = { readonly description?: string; readonly default?: unknown };

function propertiesOf(schema: JsonValue): Readonly<Record<string, Property>> {
  const { properties } = isPlainMap(schema) ? schema : {};
  return isPlainMap(properties) ? (properties as Readonly<Record<string, Property>>) : {};
}

function withoutKeys(value: unknown): unknown {
  if (typeof value === 'string') return hideKeys(value);
  if (Array.isArray(value)) return value.map(withoutKeys);
  if (!isPlainMap(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withoutKeys(each)]));
}

/** All of one extension, or all of Pith itself: each group is checked and written whole. */
export async function setSettings(kernel: Kernel, input: CommandInput, io: CommandIO): Promise<void> {
  const changes: Record<string, JsonValue> = Object.fromEntries((input.arguments['values'] as readonly string[]).map(pair));
  const [owner = null, ...others] = new Set(Object.keys(changes).map(ownerOf));
  if (others.length > 0)
    throw new PithError('usage', 'settings of several extensions cannot be set at once', { cure: 'set those of one, then of the next' });
  const { setup } = kernel.host;
  const { values } = owner === null ? await setup.pithForm(kernel.settings) : await setup.form(findExtension(kernel, owner).id);
  const kept = keysIn(values);
  for (const key of Object.keys(changes)) changes[key] = withKeys(changes[key] as JsonValue, kept, key);
  if (owner === null) checkNames(kernel, changes);
  const written =
    owner === null
      ? await setup.configurePith(changes)
      : (await setup.configure(findExtension(kernel, owner).id, changes, 'command')).written;
  io.json({ ok: true, written, changes: withoutKeys(changes) as JsonValue });
  if (!io.quiet) for (const key of Object.keys(changes)) io.print(`Wrote ${printableLine(key)} to ${written}`);
}

/** Throws `config_invalid` for names that nothing goes by, in the words in which a start reports them. */
function checkNames({ host, router, settings }: Kernel, changes: Readonly<Record<string, JsonValue>>): void {
  const names = { ...host.extensions.discovery, agents: host.agents.declared(), router, toolsOf: () => [] };
  const known = new Set(unknownNames(settings, names).map(({ message }) => message));
  const problems = Object.entries(changes).flatMap(([key, value]) => {
    const origins = { ...settings.origins, [key]: 'pith.yaml' };
    const next = { ...overlay({ ...settings }, unfolded({ [key]: value })), origins } as Settings;
    const found = unknownNames(next, names).find(({ severity, message }) => severity === 'error' && !known.has(message));
    return found === undefined ? [] : [{ path: key.split('.'), message: printableLine(found.message, 300) }];
  });
  if (problems.length === 0) return;
  throw new PithError('config_invalid', problems.map(({ message }) => message).join('; '), { cure: 'correct the name', problems });
}

/** `a.b` as a map in a map, without what is taken out. */
function unfolded(changes: Readonly<Record<string, JsonValue>>): PlainMap {
  return Object.entries(changes)
    .filter(([, value]) => value !== null)
    .map(([dotted, value]) => dotted.split('.').reduceRight<unknown>((below, key) => ({ [key]: below }), value) as PlainMap)
    .reduce(overlay, {});
}

/** Texts with what looks like a key, by what is shown of them. */
function keysIn(value: unknown, found = new Map<string, Set<string>>()): ReadonlyMap<string, ReadonlySet<string>> {
  if (typeof value === 'string' && hideKeys(value) !== value)
    found.set(hideKeys(value), (found.get(hideKeys(value)) ?? new Set()).add(value));
  else if (Array.isArray(value)) for (const each of value) keysIn(each, found);
  else if (isPlainMap(value)) for (const each of Object.values(value)) keysIn(each, found);
  return found;
}

/** A text that was shown without its key, and comes back so, is what it was. */
function withKeys(value: JsonValue, kept: ReadonlyMap<string, ReadonlySet<string>>, key: string): JsonValue {
  if (typeof value === 'string') {
    if (!value.includes('[hidden]')) return value;
    const [whole, ...others] = kept.get(value) ?? [];
    if (whole !== undefined && others.length === 0) return whole;
    const message = 'has a key that is not shown here';
    throw new PithError('config_invalid', `'${key}' ${message}`, {
      cure: 'write this setting into pith.yaml by hand',
      problems: [{ path: key.replace(/^extensions\.[^.]+\./u, '').split('.'), message }],
    });
  }
  if (Array.isArray(value)) return value.map((each) => withKeys(each, kept, key));
  if (!isPlainMap(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withKeys(each as JsonValue, kept, key)]));
}

/** null: Pith itself. */
function ownerOf(key: string): string | null {
  return /^extensions\.([^.]+)\./u.exec(key)?.[1] ?? null;
}

function pair(text: string): readonly [string, JsonValue] {
  const at = text.indexOf('=');
  if (at <= 0) throw new PithError('usage', `'${printableLine(text, 80)}' has no value`, { cure: 'write: pith settings set key=value' });
  return [text.slice(0, at), jsonOr(text.slice(at + 1))];
}

function jsonOr(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return text; // plain text, as most values are
  }
}
