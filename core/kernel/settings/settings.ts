import path from 'node:path';
import type { Diagnostic } from '../../contract/index.ts';
import { realOf } from '@pith/safe-files';
import { deepFreeze, isPlainMap, overlay, type PlainMap } from '../records/plain-data.ts';
import { settingsFromEnvironment } from './settings-environment.ts';
import { harmlessSettings, loosened, type Loosened } from '../../trust/index.ts';
import { readForeignSettings, readSettingsFile } from './settings-file.ts';
import type { SettingsInput, SettingsValues } from './settings-schema.ts';
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
  readonly loosened: readonly (Loosened & { readonly where: string })[];
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
  let loosenedBySandbox: LoadedSettings['loosened'] = [];
  for (const [file, shown] of settingsFiles(options)) {
    const record = await readSettingsFile(file);
    if (record === null) continue;
    unread ||= record.unread === true;
    if (record.empty) empty.push(shown);
    diagnostics.push(...record.diagnostics);
    if (path.dirname(file) === options.sandbox)
      loosenedBySandbox = loosened(record.values, values).map((each) => ({
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
  return { settings, diagnostics, unread, empty, loosened: loosenedBySandbox };
}

/** Data of extensions lies in `extensions/<id>` of the data folder: in the sandbox itself that would be their sources, which they may not write. */
function dataDirectoryIn(sandbox: string, given: string | undefined): string {
  return given === undefined || realOf(given) === realOf(sandbox) ? path.join(sandbox, 'data') : given;
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
    if (origin !== undefined) return `${origin} ${dotted}`;
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
