import path from 'node:path';
import type { Diagnostic } from '../contract/diagnostic.ts';
import type { Discovery } from './discovery/declaration.ts';
import { discover } from './discovery/discover.ts';
import { openIndex, type IndexFile } from './discovery/index-file.ts';
import { sandboxRoots } from './discovery/roots.ts';
import type { HostOptions } from './host-options.ts';
import { logLevelOf } from './logger.ts';
import { packageRoot } from './package-version.ts';
import { quarantineIn } from './quarantine.ts';
import { configOf, enabledBy } from './settings/config-of.ts';
import { likelyDataDirectory } from './settings/likely-data-directory.ts';
import { loadSettings, type Settings, type SettingsOptions } from './settings/settings.ts';

export interface SandboxOptions extends Omit<SettingsOptions, 'index' | 'workingDirectory'> {
  /** What relative paths of flags and environment are relative to; default: the process's. */
  readonly workingDirectory?: string;
  /** False: without what ships with Pith. Default true. */
  readonly shipped?: boolean;
}

/** A sandbox's settings, and the index in its data directory. */
export interface SandboxReading {
  readonly options: SandboxOptions;
  readonly index: IndexFile;
  readonly settings: Settings;
  /** Of the settings. */
  readonly diagnostics: readonly Diagnostic[];
  /** What the folders declared a moment ago, where somebody has looked: the first look takes it. */
  readonly discovery?: Discovery;
}

/** Reads the settings of a sandbox. Never rejects. */
export async function readSandbox(options: SandboxOptions): Promise<SandboxReading> {
  const settingsOptions = { ...options, workingDirectory: options.workingDirectory ?? process.cwd() };
  let index = openIndex(indexIn(likelyDataDirectory(settingsOptions)));
  let loaded = await loadSettings({ ...settingsOptions, index });
  const file = indexIn(loaded.settings.data_dir);
  if (index.file !== file) {
    index = openIndex(file);
    loaded = await loadSettings({ ...settingsOptions, index });
  }
  return { options, index, ...loaded };
}

type OfTheSandbox =
  | 'sandbox'
  | 'dataDirectory'
  | 'packageRoot'
  | 'discover'
  | 'configOf'
  | 'watched'
  | 'index'
  | 'env'
  | 'logLevel'
  | 'sandboxing'
  | 'quarantine';

/** What a host over this sandbox is made of, whoever makes it. */
export function hostOptionsOf({ options, index, settings, discovery }: SandboxReading): Pick<HostOptions, OfTheSandbox> {
  const installation = packageRoot();
  const roots = sandboxRoots(options.sandbox, installation, options.shipped ?? true);
  let known = discovery;
  return {
    sandbox: options.sandbox,
    dataDirectory: settings.data_dir,
    packageRoot: installation,
    discover: async (at) => {
      const found = known ?? (await discover({ roots, agentPaths: settings.agents.paths, index, isEnabled: enabledBy(settings), at }));
      known = undefined; // the next look is a new one
      return found;
    },
    configOf: (declaration) => configOf(declaration, settings),
    watched: roots.flatMap(({ directory }) => [path.join(directory, 'extensions'), path.join(directory, 'agents')]),
    index,
    env: options.env,
    logLevel: logLevelOf(options.env['PITH_LOG']),
    sandboxing: async () => (settings.extensions_sandbox === 'off' ? null : (await import('./process/sandboxing.ts')).probeSandboxing()),
    quarantine: quarantineIn(settings.data_dir),
  };
}

function indexIn(dataDirectory: string): string {
  return path.join(dataDirectory, '.cache', 'index.json');
}
