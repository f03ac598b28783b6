import path from 'node:path';
import { codeOf } from '../contract/errors.ts';
import type { Bundle } from '../loader/bundle-store.ts';
import type { Declaration } from '../kernel/discovery/declaration.ts';
import { concerns } from '../kernel/recipients.ts';
import type { HostParts } from '../kernel/host-parts.ts';
import type { Candidate, Version } from '../kernel/lifecycle/generation.ts';
import { PHASE_LIMIT_MS, runPhase } from '../kernel/lifecycle/phase-limit.ts';
import { buildOf } from '../kernel/package-version.ts';
import { Problem } from '../kernel/problem.ts';
import { openRemoteHost, type RemoteHost } from './remote-host.ts';
import { initializeRemote } from './remote-generation.ts';
import { placesOf, type Setup } from './setup.ts';
import type { Command } from '../contract/index.ts';

/** Bundles, and starts a process that imports, checks and constructs. Rejects with a `Problem`; no process is left then. */
export async function constructRemote(host: HostParts, version: Version, number: number): Promise<Candidate> {
  return constructBundle(host, version, number, await mainOf(host, version.declaration));
}

/** In a process that imports the class and constructs nothing. Rejects with what its schema says of the settings. */
export async function checkRemote(host: HostParts, version: Version, number: number): Promise<void> {
  const remote = await importRemote(host, version, number, await mainOf(host, version.declaration));
  await remote.phase('validate', 'config_invalid', PHASE_LIMIT_MS, 'host.checkConfig');
  await remote.end('its settings were checked');
}

async function mainOf(host: HostParts, declaration: Declaration): Promise<Bundle> {
  const { id, manifest, file } = declaration;
  if (!manifest) throw new Problem('validate', 'manifest_invalid', `the manifest of '${id}' is broken`, { file });
  const { entrypoint } = manifest;
  if (entrypoint === undefined) throw new Problem('import', 'entrypoint_missing', `'${id}' has no entrypoint`, { file });
  return bundleOf(host, declaration, entrypoint);
}

/** For what has been bundled before. */
async function constructBundle(host: HostParts, version: Version, number: number, bundle: Bundle): Promise<Candidate> {
  const remote = await importRemote(host, version, number, bundle);
  await remote.phase('construct', 'construct_failed', PHASE_LIMIT_MS, 'host.construct');
  const { declaration, config } = version;
  const made = { number, declaration, config, shipped: bundle.shipped };
  return {
    ...made,
    tier: 'process',
    initialize: () => initializeRemote(host, remote, { ...made, again: (next) => constructBundle(host, version, next, bundle) }),
    discard: () => remote.end('another version is wanted'),
  };
}

async function importRemote(host: HostParts, version: Version, number: number, bundle: Bundle): Promise<RemoteHost> {
  const remote = await openRemoteHost(host, version.declaration, processEntry(host.options.packageRoot));
  try {
    await remote.phase('import', 'import_failed', PHASE_LIMIT_MS, 'host.import', [setupOf(host, version, number, bundle)]);
    return remote;
  } catch (error) {
    // A package that moved since the bundle was made is found again by rebuilding it.
    if (error instanceof Problem && codeOf(error.cause, '') === 'ERR_MODULE_NOT_FOUND') await host.bundles.forget(bundle);
    throw error;
  }
}

export function bundleOf(host: HostParts, declaration: Declaration, entry: string): Promise<Bundle> {
  const slow = (message: string): void => host.note(declaration.id, 'phase_slow', message);
  const limit = { phase: 'import', clock: host.clock, limitMs: PHASE_LIMIT_MS, failed: 'import_failed', slow } as const;
  return runPhase(limit, () => host.bundles.bundle(declaration, entry));
}

/** What the process runs: made by the build. */
export function processEntry(packageRoot: string): string {
  return path.join(buildOf(packageRoot), 'process.js');
}

/** The values are those of its version; its rights are as they stand now. */
export function setupOf(host: HostParts, version: Version, number: number, bundle: Bundle): Setup {
  const { declaration } = version;
  const { sandbox, home, dataDirectory, packageRoot, configOf } = host.options;
  const effective = { ...configOf(declaration), config: version.config.config, where: version.config.where };
  const { where: _, ...config } = effective;
  return {
    declaration,
    number,
    bundle,
    options: { sandbox, home, dataDirectory, packageRoot },
    config,
    places: placesOf(effective),
    secrets: Object.fromEntries(
      effective.secrets.flatMap((name) => {
        const shared = host.secrets.share(name, (recipient) => concerns(recipient, declaration, bundle.shipped));
        return shared === null ? [] : [[name, shared]];
      }),
    ),
    providers: host.providersFor(declaration),
  };
}

export interface RemoteEntry {
  readonly commands: readonly Command[];
  /** Ends the process. Never rejects. */
  end(): Promise<void>;
}

/** The commands of a command entry, in a separate process: the extension is not activated. Rejects with a `Problem`; no process is left then. */
export async function openRemoteEntry(host: HostParts, version: Version, entry: string): Promise<RemoteEntry> {
  const bundle = await bundleOf(host, version.declaration, entry);
  const remote = await openRemoteHost(host, version.declaration, processEntry(host.options.packageRoot));
  // A command entry is given no secrets: its context has no door to them.
  const setup = { ...setupOf(host, version, 1, bundle), secrets: {} };
  await remote.phase('import', 'import_failed', PHASE_LIMIT_MS, 'host.entry', [setup, entry]);
  const list = await remote.phase('call', 'provider_failed', PHASE_LIMIT_MS, 'command.list');
  const commands = remote.commands.commandsOf(remote.peer, [], list).map((command): Command => ({
    ...command,
    run(...args) {
      remote.used();
      return command.run(...args);
    },
  }));
  return { commands, end: () => remote.end('its command has ended') };
}
