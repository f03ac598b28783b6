import path from 'node:path';
import { type Diagnostic, codeOf } from '../contract/index.ts';
import { realPathOf } from '@pith/safe-files';
import { deepFreeze, isPlainMap, overlay, type PlainMap } from '@pith/plain-data';
import { harmlessSettings, weakened, type Weakened } from '../trust/index.ts';
import type { SettingsInput, SettingsValues } from './settings-schema.ts';
import fs from 'node:fs';
import type { z } from 'zod';
import { nearest, slipsOf, didYouMean } from '@pith/plain-text';
import { readTextFile } from './source-files.ts';
import { switchOf } from './declaration.ts';
import type { Positions } from '@pith/checked-yaml';
export type { SettingsInput } from './settings-schema.ts';

/** Where a value was set, in words: `sandbox/pith.yaml:12`, `environment PITH_MODEL`, `flag`. */
export type Origins = Readonly<Record<string, string>>;

/** The merged settings, deeply frozen. Paths in them are absolute. */
export type Settings = Readonly<Omit<SettingsValues, 'data_dir'>> & {
  readonly data_dir: string;
  /** By dotted path; what is missing is a default. */
  readonly origins: Origins;
};

/** The schema's defaults, so that a start without settings files needs no schema; a test keeps both equal. */
export const DEFAULT_SETTINGS = deepFreeze({
  default_agent: 'orchestrator',
  models: {},
  prices: {},
  providers: {},
  agents: { paths: [] as string[] },
  approvals: { tools: [] as string[] },
  admins: [] as string[],
  extensions_sandbox: 'auto' as const,
  extensions: {},
  skills: {},
  quotas: { data_mb: 1024, keys: 100_000, key_values_mb: 64, log_mb: 10, logs: 5 },
}) satisfies Omit<SettingsValues, 'data_dir'>;

export interface SettingsOptions {
  /** Absolute. */
  readonly sandbox: string;
  /** The user's home folder, for `.pith/config.yaml`; absent: that file is not read. */
  readonly home?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly flags?: SettingsInput | undefined;
  /** A sandbox that nobody trusts: of its settings only those hold that are harmless. Absolute; null or absent: there is none. */
  readonly untrusted?: string | null;
  /** What relative paths of flags and environment are relative to. */
  readonly workingDirectory: string;
}

export interface LoadedSettings {
  readonly settings: Settings;
  readonly diagnostics: readonly Diagnostic[];
  /** Nothing of one of the files could be read. */
  readonly unread: boolean;
  /** Those in which there is nothing at all, as messages name them. */
  readonly empty: readonly string[];
  /** What the sandbox's file allows that the person's own settings do not. */
  readonly weakened: readonly (Weakened & { readonly where: string })[];
}

/** Defaults < `~/.pith/config.yaml` < `sandbox/pith.yaml` < `PITH_*` < flags. Never rejects: what is wrong is left out and reported. */
export async function loadSettings(options: SettingsOptions): Promise<LoadedSettings> {
  const here = options.workingDirectory;
  const diagnostics: Diagnostic[] = [];
  const origins: Record<string, string> = {};
  let values: PlainMap = DEFAULT_SETTINGS;
  const lay = (layer: PlainMap, base: string, originOf: (dotted: string) => string) => {
    values = overlay(values, absolute(layer, base, options.home));
    for (const dotted of pathsOf(layer)) origins[dotted] = originOf(dotted);
  };

  let unread = false;
  const empty: string[] = [];
  let weakenedBySandbox: LoadedSettings['weakened'] = [];
  for (const [file, shown] of settingsFiles(options)) {
    const record = await readSettingsFile(file);
    if (record === null) continue;
    unread ||= record.unread === true;
    if (record.empty) empty.push(shown);
    diagnostics.push(...record.diagnostics);
    if (path.dirname(file) === options.sandbox)
      weakenedBySandbox = weakened(record.values, values).map((each) => ({
        ...each,
        where: `${shown}:${record.positions[each.setting]?.[0] ?? 1}`,
      }));
    lay(record.values, path.dirname(file), (dotted) => `${shown}:${record.positions[dotted]?.[0] ?? 1}`);
  }
  if (options.untrusted) {
    const [file, shown] = sandboxFile(options.untrusted);
    const record = await readForeignSettings(file);
    lay(harmlessSettings(record?.values ?? {}, values), options.untrusted, () => shown);
  }
  const environment = settingsFromEnvironment(options.env);
  diagnostics.push(...environment.diagnostics);
  lay(environment.values, here, (dotted) => `environment ${environment.names.get(dotted) ?? 'PITH_*'}`);
  lay(options.flags ?? {}, here, () => 'flag');

  const given = (values as { data_dir?: string }).data_dir;
  const data_dir = dataDirectoryIn(options.sandbox, given);
  if (given !== undefined && data_dir !== given) diagnostics.push(sourcesIn(origins['data_dir'] ?? 'data_dir'));
  const settings = deepFreeze({ ...structuredClone(values), data_dir, origins }) as unknown as Settings;
  return { settings, diagnostics, unread, empty, weakened: weakenedBySandbox };
}

/** Data of extensions lies in `extensions/<id>` of the data folder: in the sandbox itself that would be their sources, which they may not write. */
function dataDirectoryIn(sandbox: string, given: string | undefined): string {
  return given === undefined || realPathOf(given) === realPathOf(sandbox) ? path.join(sandbox, 'data') : given;
}

function sourcesIn(where: string): Diagnostic {
  const message = `data_dir is the sandbox itself (${where}), where the sources of extensions lie; its folder data is used`;
  return { severity: 'error', code: 'settings_invalid', message, cure: 'name a separate folder' };
}

/** Where settings are read from, lowest precedence first, and how messages name these files. */
export function settingsFiles({
  sandbox,
  home,
}: Pick<SettingsOptions, 'sandbox' | 'home'>): readonly (readonly [file: string, shown: string])[] {
  const own = sandboxFile(sandbox);
  return home === undefined ? [own] : [[path.join(home, '.pith', 'config.yaml'), '~/.pith/config.yaml'], own];
}

function sandboxFile(sandbox: string): readonly [file: string, shown: string] {
  return [path.join(sandbox, 'pith.yaml'), path.join(path.basename(sandbox), 'pith.yaml')];
}

/** How a message names a setting: `sandbox/pith.yaml:12 skills.poll_seconds`, or only the path when it was never set. */
export function settingName(settings: Settings, dotted: string): string {
  const parts = dotted.split('.');
  for (let length = parts.length; length > 0; length -= 1) {
    const origin = settings.origins[parts.slice(0, length).join('.')];
    if (origin !== undefined) return /^environment (?=\w+$)/u.test(origin) ? origin.replace(/^environment /u, '') : `${origin} ${dotted}`;
  }
  return dotted;
}

/** A path of the settings: relative to `base`, or to the home folder where it begins with `~/`. */
export function absolutePath(given: string, base: string, home?: string): string {
  return home !== undefined && /^~(?=$|[/\\])/.test(given) ? path.join(home, given.slice(1)) : path.resolve(base, given);
}

function pathsOf(value: PlainMap, prefix = ''): string[] {
  return Object.entries(value).flatMap(([key, part]) => {
    const dotted = `${prefix}${key}`;
    if (part === undefined) return [];
    return isPlainMap(part) ? [dotted, ...pathsOf(part, `${dotted}.`)] : [dotted];
  });
}

function absolute(layer: PlainMap, base: string, home: string | undefined): PlainMap {
  const { data_dir, agents } = layer as SettingsInput;
  const resolve = (given: string) => absolutePath(given, base, home);
  return {
    ...layer,
    ...(data_dir === undefined ? {} : { data_dir: resolve(data_dir) }),
    ...(agents?.paths === undefined ? {} : { agents: { ...agents, paths: agents.paths.map(resolve) } }),
  };
}

/** A settings file as it was read: the values that are good, and what is wrong with the others. */
export interface SettingsRecord {
  readonly values: PlainMap;
  readonly positions: Positions;
  readonly diagnostics: readonly Diagnostic[];
  /** Nothing of it could be read. */
  readonly unread?: true;
  /** There is nothing in it, not even a comment: it may be half saved. */
  readonly empty?: true;
}

const MAX_SETTINGS_BYTES = 256 * 1024;

/** What holds instead of `approvals` that cannot be read: nobody knows what it was to keep, so everything asks. */
const ASK_ALWAYS = { approvals: { tools: ['*'] } };

/** Reads a settings file. null when there is none. Never rejects. */
export async function readSettingsFile(file: string): Promise<SettingsRecord | null> {
  try {
    return await parse(file);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(error, ''))) return null; // a file is where its folder would be, as with a home that is none
    const message = `cannot be read: ${(error as Error).message}`;
    const diagnostic: Diagnostic = {
      severity: 'error',
      code: 'settings_invalid',
      message,
      file,
      line: 1,
      column: 1,
      cure: 'correct the file',
    };
    return { values: ASK_ALWAYS, positions: {}, diagnostics: [asking(diagnostic)], unread: true };
  }
}

/** As `readSettingsFile`, of a sandbox that nobody trusts: a link is not followed, and a file that cannot be read says nothing. */
export async function readForeignSettings(file: string): Promise<SettingsRecord | null> {
  if (fs.lstatSync(file, { throwIfNoEntry: false })?.isFile() !== true) return null;
  return parse(file).catch(() => null);
}

async function parse(file: string): Promise<SettingsRecord> {
  const text = readTextFile(file, MAX_SETTINGS_BYTES);
  if (text.trim() === '') return { values: {}, positions: {}, diagnostics: [], empty: true };
  const { issuesToDiagnostics, parseLeniently, parseYaml, saidIgnored } = await import('@pith/checked-yaml');
  const document = await parseYaml(text, { file, code: 'settings_invalid', maxBytes: MAX_SETTINGS_BYTES });
  const isBroken = document.diagnostics.some(({ severity }) => severity === 'error');
  if (document.value === undefined || document.value === null)
    return isBroken
      ? { values: ASK_ALWAYS, positions: {}, diagnostics: document.diagnostics.map(asking), unread: true }
      : { values: {}, positions: {}, diagnostics: document.diagnostics };
  const { settingsSchema } = await import('./settings-schema.ts');
  const schema = settingsSchema();
  const { value, slips } = withBlocksMeant(withoutEmpty(document.value), Object.keys(schema.shape));
  const { rest, issues } = parseLeniently(schema, value);
  const positions = Object.fromEntries(
    Object.entries(document.positions).map(([dotted, position]) => {
      const [key = ''] = dotted.split('.', 1);
      return [`${slips.get(key) ?? key}${dotted.slice(key.length)}`, position];
    }),
  );
  const source = { file, positions, code: 'settings_invalid', value };
  const found = issues.flatMap((issue) =>
    issuesToDiagnostics([issue], schema, source)
      .map((each) => (each.code === 'unknown_key' || !isAboutApprovals(issue) ? saidIgnored(each) : each))
      .map((each) => (isAboutApprovals(issue) ? asking(each) : each))
      .map(withPlace),
  );
  const misnamed = [...slips].flatMap(([key, meant]) => {
    const message = `'${key}' must be written '${meant}'; it counts as that`;
    const issue: z.core.$ZodIssue = { code: 'custom', path: [meant], message, input: undefined };
    return issuesToDiagnostics([issue], schema, source).map((each) => ({ ...each, message }));
  });
  const ofText = isBroken ? document.diagnostics.map(asking) : document.diagnostics;
  const diagnostics = [...ofText, ...misnamed, ...found].toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0));
  const values = isPlainMap(rest) ? withSwitches(rest, document.value) : {};
  const asks = isBroken || !isPlainMap(rest) || issues.some(isAboutApprovals);
  return { values: asks ? { ...values, ...ASK_ALWAYS } : values, positions, diagnostics };
}

/** With null for each `enabled` of an extension that only counts as false. */
function withSwitches(read: PlainMap, written: unknown): PlainMap {
  const { extensions } = read;
  if (!isPlainMap(extensions)) return read;
  const blocks = isPlainMap(written) && isPlainMap(written['extensions']) ? written['extensions'] : {};
  const switched = Object.entries(extensions).map(([id, block]) => {
    const isOff = isPlainMap(block) && block['enabled'] === false;
    return [id, isOff ? { ...block, enabled: switchOf(false, blocks[id]) } : block];
  });
  return { ...read, extensions: Object.fromEntries(switched) };
}

/** Keys that other systems have at the top, and their place here. */
const PLACES: ReadonlyMap<string, string> = new Map([['skills_path', 'skills.skills_path']]);

function withPlace(found: Diagnostic): Diagnostic {
  const [, key = ''] = /^unknown key '([^']+)'(?! in )/u.exec(found.message) ?? [];
  const place = PLACES.get(key);
  return place === undefined ? found : { ...found, cure: `write it as ${place}` };
}

/** Blocks that hold what switches skills and extensions off. */
const SAFEGUARDED: readonly string[] = ['skills', 'extensions'];
const MOST_WRONG = 2;

/** What has a name close to that of such a block counts as that, where that is not there. */
function withBlocksMeant(value: unknown, known: readonly string[]): { value: unknown; slips: ReadonlyMap<string, string> } {
  const slips = new Map<string, string>();
  if (!isPlainMap(value)) return { value, slips };
  for (const key of Object.keys(value)) {
    const [meant = ''] = known.includes(key) ? [] : slipsOf(key, known, MOST_WRONG);
    const isTaken = meant in value || [...slips.values()].includes(meant);
    if (SAFEGUARDED.includes(meant) && !isTaken) slips.set(key, meant);
  }
  return { value: Object.fromEntries(Object.entries(value).map(([key, part]) => [slips.get(key) ?? key, part])), slips };
}

/** A finding for which nobody knows what `approvals` were. */
function asking(finding: Diagnostic): Diagnostic {
  if (finding.severity !== 'error') return finding;
  return { ...finding, cure: `${finding.cure ?? 'correct it'}; until then every tool asks before it runs` };
}

/** Whether an issue may be about what was to be approved: `approvals` itself, what is below it, a slip in its name. */
function isAboutApprovals(issue: z.core.$ZodIssue): boolean {
  const [key] = issue.path;
  const keys = key !== undefined ? [key] : issue.code === 'unrecognized_keys' ? issue.keys : null;
  return keys === null || keys.some((each) => nearest(String(each), ['approvals']).length > 0);
}

/** A key with nothing behind it, as a sample whose values are comments has, says nothing. */
function withoutEmpty(value: unknown): unknown {
  if (!isPlainMap(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, part]) => part !== null)
      .map(([key, part]) => [key, withoutEmpty(part)]),
  );
}

export interface EnvironmentSettings {
  readonly values: PlainMap;
  /** The variable that set a dotted path. */
  readonly names: ReadonlyMap<string, string>;
  readonly diagnostics: readonly Diagnostic[];
}

/** Variables and the settings that they set. `PITH_SKILLS_<KEY>` sets any `skills.<key>`, as JSON or plain text. */
export const ENVIRONMENT_SETTINGS: Readonly<Record<string, readonly [path: string, kind: 'text' | 'list']>> = {
  PITH_MODEL: ['models.default', 'text'],
  PITH_MODEL_FAST: ['models.fast', 'text'],
  PITH_MODEL_STANDARD: ['models.standard', 'text'],
  PITH_MODEL_THINKING: ['models.thinking', 'text'],
  PITH_DEFAULT_AGENT: ['default_agent', 'text'],
  PITH_DATA_DIR: ['data_dir', 'text'],
  PITH_AGENTS_PATHS: ['agents.paths', 'list'],
  PITH_ADMINS: ['admins', 'list'],
};

/** Settings among the environment's `PITH_*` variables. Empty ones count as unset; a name close to a known one is reported. */
export function settingsFromEnvironment(env: Readonly<Record<string, string | undefined>>): EnvironmentSettings {
  const values: Record<string, unknown> = {};
  const names = new Map<string, string>();
  const diagnostics: Diagnostic[] = [];
  for (const name of Object.keys(env).sort()) {
    const text = env[name];
    if (!name.startsWith('PITH_') || text === undefined || text === '') continue;
    const known = Object.hasOwn(ENVIRONMENT_SETTINGS, name) ? ENVIRONMENT_SETTINGS[name] : undefined;
    const skillKey = /^PITH_SKILLS_([A-Z0-9_]+)$/.exec(name)?.[1]?.toLowerCase();
    if (known !== undefined) {
      put(
        values,
        known[0],
        known[1] === 'list'
          ? text
              .split(',')
              .map((part) => part.trim())
              .filter(Boolean)
          : text,
      );
      names.set(known[0], name);
    } else if (skillKey !== undefined) {
      put(values, `skills.${skillKey}`, jsonOr(text));
      names.set(`skills.${skillKey}`, name);
    } else if (!ELSEWHERE.has(name)) {
      const hint = didYouMean(
        name,
        [...Object.keys(ENVIRONMENT_SETTINGS), ...ELSEWHERE].filter((other) => sharesStart(name, other)),
      );
      if (hint !== '')
        diagnostics.push({
          severity: 'warning',
          code: 'unknown_key',
          message: `unknown environment variable ${name}${hint}`,
          cure: 'correct its name or unset it',
        });
    }
  }
  return { values, names, diagnostics };
}

/** Variables that are no settings: the command line reads them, and they are secrets of what ships. */
const ELSEWHERE: ReadonlySet<string> = new Set([
  'PITH_SANDBOX',
  'PITH_TRUST',
  'PITH_LOG',
  'PITH_USER',
  'PITH_MASTER_KEY',
  'PITH_MASTER_KEY_OLD',
  'PITH_SUPERVISED',
  'PITH_SERVE_HEALTHY_MS',
  'PITH_SERVE_SILENCE_MS',
]);

/** The common prefix says nothing, so a name must also begin alike after it to count as a slip. */
function sharesStart(name: string, other: string): boolean {
  return name[5] === other[5] && Math.abs(name.length - other.length) <= 3;
}

function put(values: Record<string, unknown>, path: string, value: unknown): void {
  const parts = path.split('.');
  const last = parts.pop()!;
  let target = values;
  for (const part of parts) target = (target[part] ??= {}) as Record<string, unknown>;
  target[last] = value;
}

function jsonOr(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text; // plain text, as most variables are
  }
}
