import fs from 'node:fs';
import path from 'node:path';
import { type Diagnostic, type JsonValue, PithError, type Places, type SettingsChange } from '../contract/index.ts';
import { isPlainMap, type PlainMap } from '@pith/plain-data';
import {
  discover,
  type DiscoverOptions,
  openIndex,
  type IndexFile,
  packageRoot,
  quarantineIn,
  type Root,
  type Claims,
  claimsOf,
  configOf,
  enabledBy,
  withIdsMeant,
  loadSettings,
  type LoadedSettings,
  type Settings,
  type SettingsOptions,
  shippedRecords,
  shippedSandbox,
  type Declaration,
  DEFAULT_SETTINGS,
} from '../declarations/index.ts';
import { type HostOptions, logLevelOf } from '../kernel/index.ts';
import {
  declaredPrefixes,
  type EnvironmentFile,
  openEnvironmentFile,
  openSecretsFile,
  trustOf,
  type StatePlace,
  type Trust,
} from '../trust/index.ts';
import { IN_MEMORY } from '../store/index.ts';
import { didYouMean } from '@pith/plain-text';
import { stateFolder } from '@pith/safe-files';

export interface SandboxOptions extends Omit<SettingsOptions, 'workingDirectory' | 'untrusted'> {
  /** Whose sandbox it is; absent: as it is recorded. */
  readonly trust?: Trust;
  /** The caller vouches for the sandbox, as `--trust` does. */
  readonly accepts?: boolean;
  /** What relative paths of flags and environment are relative to; default: the process's. */
  readonly workingDirectory?: string;
  /** Of what ships with Pith, these extensions and agents, and what they depend on, or may. Default: all of it. */
  readonly only?: readonly string[];
  /** Those of the command line that extensions may declare, without dashes. */
  readonly switches?: readonly string[];
  /** What the command line of `pith serve` asks for; absent elsewhere. */
  readonly serve?: Places['serve'];
  /** Nothing is written: the database is in memory, and no index is kept. */
  readonly inMemory?: boolean;
  /** As `HostOptions` has it. */
  readonly isGuest?: boolean;
}

/** A sandbox's settings, and the index in its data directory. */
export interface SandboxReading {
  /** `sandbox` is the one to work in. */
  readonly options: SandboxOptions & { readonly trust: Trust };
  /** Where the state is kept. */
  readonly state: StatePlace;
  readonly index: IndexFile;
  readonly databaseFile: string;
  /** As they were read last. */
  settings: Settings;
  /** Of the settings. */
  diagnostics: readonly Diagnostic[];
  /** Nothing of one of their files could be read: what it says is missing everywhere. */
  unread: boolean;
  /** Reads the files of the settings again, and says whether they changed. The data directory stays; so do all settings while a file cannot be read at all, or is empty and was not. Never rejects. */
  renew(): Promise<boolean>;
}

/** Reads the settings of a sandbox. Never rejects. */
export async function readSandbox(options: SandboxOptions): Promise<SandboxReading> {
  const { home = null } = options;
  const trust = options.trust ?? trustOf({ ...options, shipped: shippedSandbox(), home });
  const { sandbox, untrusted } = trust;
  const settingsOptions = { ...options, sandbox, untrusted, workingDirectory: options.workingDirectory ?? process.cwd() };
  const first = await loadSettings(settingsOptions);
  const { inMemory = false } = options;
  const state = inMemory ? trust.state(first.settings.data_dir) : trust.claim(first.settings.data_dir);
  const index = openIndex(stateFolder(state.directory, '.cache'), shippedRecords(packageRoot()));
  const reading: SandboxReading = {
    options: { ...options, sandbox, trust },
    state,
    index: inMemory ? { ...index, save: async () => null } : index,
    databaseFile: inMemory ? IN_MEMORY : path.join(state.directory, 'pith.db'),
    settings: Object.freeze({ ...first.settings, data_dir: state.directory }),
    unread: first.unread,
    diagnostics: [...first.diagnostics, ...trustFindings(trust, state, first.weakened)],
    async renew() {
      const { data_dir } = reading.settings;
      const found = await loadSettings(settingsOptions);
      const emptied = found.empty.filter((shown) => Object.values(reading.settings.origins).some((each) => each.startsWith(`${shown}:`)));
      const keeps = (found.unread && !reading.unread) || emptied.length > 0;
      const unread = keeps ? reading.unread : found.unread;
      const settings = keeps ? reading.settings : Object.freeze({ ...found.settings, data_dir });
      const findings = keeps ? [...found.diagnostics.map(kept), ...emptied.map(isEmpty)] : found.diagnostics;
      const diagnostics = [...findings, ...trustFindings(trust, state, found.weakened)];
      const changed = textOf(settings, diagnostics) !== textOf(reading.settings, reading.diagnostics);
      Object.assign(reading, { settings, diagnostics, unread });
      return changed;
    },
  };
  return reading;
}

/** With the default agent of Pith where nothing declares the one that the settings name. */
export function settingsFor(settings: Settings, agents: readonly { readonly id: string }[]): Settings {
  const { default_agent } = DEFAULT_SETTINGS;
  const has = (wanted: string) => agents.some(({ id }) => id === wanted);
  return has(settings.default_agent) || !has(default_agent) ? settings : { ...settings, default_agent };
}

/** What a person should know of whose sandbox and state this is. */
function trustFindings({ level, opened, why }: Trust, state: StatePlace, weakened: LoadedSettings['weakened']): readonly Diagnostic[] {
  const cure = 'see what it brings, and trust it, with: pith trust';
  return [
    ...(level === 'restricted'
      ? [
          {
            severity: 'warning',
            code: 'restricted',
            message: `${opened} is restricted: ${why}; only what ships with Pith is used`,
            cure,
          } as const,
        ]
      : []),
    ...(state.why === null
      ? []
      : [
          {
            severity: 'warning',
            code: state.isNew ? 'trust_failed' : 'state_unknown', // that has been said by whoever opened it
            message: `started with fresh state: ${state.why}`,
            cure: state.cure ?? 'if the old state is yours, run: pith trust --yes --state',
          } as const,
        ]),
    ...weakened.map(({ setting, effect, where }) => ({
      severity: 'info' as const,
      code: 'safeguard_loosened',
      message: `${where} ${setting}: ${effect}`,
      cure: 'take the setting out if you did not mean that',
    })),
  ];
}

/** The finding on a file while the settings that it had before still hold. */
function kept(finding: Diagnostic): Diagnostic {
  return { ...finding, message: `${finding.message}; keeping the previous settings`, cure: 'correct the file' };
}

function isEmpty(shown: string): Diagnostic {
  const message = `${shown} is empty; keeping the previous settings`;
  return { severity: 'warning', code: 'settings_invalid', message, cure: 'write its settings again, or remove the file to go without' };
}

function textOf(settings: Settings, diagnostics: readonly Diagnostic[]): string {
  return JSON.stringify([{ ...settings, origins: null }, diagnostics]);
}

/** What a host over this sandbox is made of, as the sandbox says it. */
export function hostOptionsOf({ options, index, settings }: SandboxReading) {
  const { trust, sandbox, home, env, serve = null } = options;
  const { project, isBare, untrusted } = trust;
  return {
    places: {
      sandbox,
      project,
      isBare,
      untrustedSandbox: untrusted,
      serve,
      get projectFiles() {
        return trust.projectFiles;
      },
      home: home ?? null,
      dataDirectory: settings.data_dir,
    },
    trust,
    index,
    secrets: {
      env,
      stored: home === undefined ? undefined : openSecretsFile(home),
      project: project === null ? undefined : agreedEnvironment(path.join(project, '.env'), trust),
    },
    log: { level: logLevelOf(env['PITH_LOG']), quota: settings.quotas },
  };
}

/** Where a person agrees to it meanwhile, it is used from then on. */
function agreedEnvironment(file: string, trust: Trust): EnvironmentFile {
  const opened = openEnvironmentFile(file);
  const isAgreed = () => trust.projectFiles.includes(file);
  return { get: (name) => (isAgreed() ? opened.get(name) : null), version: () => (isAgreed() ? opened.version() : '') };
}

/** What the folders declare, with what else is `given`, and the settings of each extension. */
export function sourceOf(
  reading: SandboxReading,
  given: Pick<DiscoverOptions, 'folders' | 'objects'> = {},
): Pick<HostOptions, 'source' | 'configOf'> {
  const { options, index } = reading;
  const { trust, sandbox, switches, isGuest = false } = options;
  const { data_dir: dataDirectory } = reading.settings;
  let declared: readonly string[] = []; // ids of what there was at the last look
  const settingsMeant = () => withIdsMeant(reading.settings, declared);
  const roots = sandboxRoots(sandbox, packageRoot(), options.only).filter(({ shipped }) => shipped || trust.level !== 'restricted');
  /** It changes only when Pith is updated, or developed: a guest takes it as it was built. */
  const isBelow = ({ shipped }: Root) => shipped && roots.length > 1;
  let prefixes: ReadonlySet<string> = new Set();
  let ofAll: ReadonlySet<string> | undefined;
  let claims: Claims = new Map();
  return {
    source: {
      async discover(at, polls = false) {
        const found = await discover({
          roots: polls || isGuest ? roots.map((root) => ({ ...root, unchanged: isBelow(root) })) : roots,
          ...given,
          agentPaths: reading.settings.agents.paths,
          index,
          isEnabled(declaration, ids) {
            declared = [...ids];
            return enabledBy(settingsMeant())(declaration);
          },
          grant: (id, manifest, shipped) => trust.grant(id, manifest, shipped, dataDirectory),
          guards: new Set(trust.guards()),
          at,
        });
        prefixes = contestedPrefixes(found.declarations.values());
        ofAll = declaredPrefixes(found.declarations.values());
        claims = claimsOf(found.declarations.values());
        return found;
      },
      renewSettings: () => reading.renew(),
      watched: roots.flatMap(({ directory }) => [path.join(directory, 'extensions'), path.join(directory, 'agents')]),
      quarantine: quarantineIn(dataDirectory),
    },
    configOf(declaration, changes) {
      const settings = changes ? withChanges(settingsMeant(), changes) : settingsMeant();
      return configOf(declaration, settings, { switches, prefixes, declared: ofAll, claims });
    },
  };
}

/** Prefixes of models that something offers that ships, or more than one extension: the key of one goes to no stranger. */
function contestedPrefixes(declarations: Iterable<Declaration>): ReadonlySet<string> {
  const offers = [...declarations].flatMap(({ shipped, manifest }) => (manifest?.models ?? []).map(({ prefix }) => ({ prefix, shipped })));
  const isContested = (prefix: string) =>
    offers.some((each) => each.prefix === prefix && each.shipped) || offers.filter((each) => each.prefix === prefix).length > 1;
  return new Set(offers.flatMap(({ prefix }) => (isContested(prefix) ? [prefix] : [])));
}

function withChanges(settings: Settings, changes: SettingsChange): Settings {
  let values: PlainMap = settings;
  for (const [dotted, value] of Object.entries(changes)) values = withValue(values, dotted.split('.'), value);
  const origins = { ...settings.origins, ...Object.fromEntries(Object.keys(changes).map((dotted) => [dotted, 'the new value of'])) };
  return { ...values, origins } as unknown as Settings;
}

/** null takes the key out. */
function withValue(values: PlainMap, [key = '', ...below]: readonly string[], value: JsonValue): PlainMap {
  const { [key]: former, ...rest } = values;
  if (below.length > 0) return { ...values, [key]: withValue(isPlainMap(former) ? former : {}, below, value) };
  return value === null ? rest : { ...values, [key]: value };
}

/** What ships lies below the user's sandbox; when the sandbox is Pith's own there is one layer. */
function sandboxRoots(sandbox: string, packageRoot: string, only: SandboxOptions['only']): readonly Root[] {
  const own: Root = { directory: path.join(packageRoot, 'sandbox'), shipped: true, only };
  const ships = (id: string) => ['extensions', 'agents'].some((kind) => fs.existsSync(path.join(own.directory, kind, id)));
  const unknown = only?.find((id) => !ships(id));
  if (unknown !== undefined) {
    const hint = didYouMean(unknown, fs.readdirSync(path.join(own.directory, 'extensions')));
    throw new PithError('name_unknown', `extensions: nothing that ships is named '${unknown}'${hint}`, { cure: 'correct the name' });
  }
  if (path.resolve(sandbox) === own.directory) return [own];
  return [...(only?.length === 0 ? [] : [own]), { directory: sandbox, shipped: false }];
}
