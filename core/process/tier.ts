import path from 'node:path';
import { codeOf, type Command, type JsonValue } from '../contract/index.ts';
import { type Declaration, buildOf } from '../declarations/index.ts';
import {
  type Candidate,
  type Version,
  type ProcessTier,
  type TierKernel,
  PHASE_LIMIT_MS,
  runPhase,
  type Bundle,
  Problem,
} from '../kernel/index.ts';
import { concerns } from '../trust/index.ts';
import { initializeRemote } from './remote-generation.ts';
import { openRemoteHost, type ProcessOptions, type RemoteHost } from './remote-host.ts';
import { placesOf, type Setup } from './setup.ts';

export type { ProcessOptions } from './remote-host.ts';

/** Runs each extension in its own process, whose entry is made by the build. */
export function createProcessTier(kernel: TierKernel, options: ProcessOptions): Omit<ProcessTier, 'confinement'> {
  const { runtime } = kernel;
  const { clock, loader, secrets, places } = runtime;
  const entryFile = path.join(buildOf(options.packageRoot), 'process.mjs');

  /** In a process that imports the class and constructs nothing. */
  async function imported(version: Version, number: number, bundle: Bundle): Promise<RemoteHost> {
    const remote = await openRemoteHost(kernel, options, version.declaration, entryFile);
    try {
      await remote.phase('import', 'import_failed', 'host.import', [setupOf(version, number, bundle)]);
      return remote;
    } catch (error) {
      // A package that moved since the bundle was made is found again by rebuilding it.
      if (error instanceof Problem && codeOf(error.cause, '') === 'ERR_MODULE_NOT_FOUND') await loader.forget(bundle);
      throw error;
    }
  }

  async function constructed(version: Version, number: number, bundle: Bundle): Promise<Candidate> {
    const remote = await imported(version, number, bundle);
    await remote.phase('construct', 'construct_failed', 'host.construct');
    const { declaration, config } = version;
    const made = { number, declaration, config, shipped: bundle.shipped };
    return {
      ...made,
      tier: 'process',
      initialize: () => initializeRemote(kernel, remote, { ...made, again: (next) => constructed(version, next, bundle) }),
      discard: () => remote.end('another version is wanted'),
    };
  }

  function bundled(declaration: Declaration, entry: string): Promise<Bundle> {
    const slow = (message: string): void => runtime.note(declaration.id, 'phase_slow', message);
    return runPhase({ phase: 'import', clock, limitMs: PHASE_LIMIT_MS, failed: 'import_failed', slow }, () =>
      loader.bundle(declaration, entry),
    );
  }

  async function mainOf(declaration: Declaration): Promise<Bundle> {
    const { id, manifest, file } = declaration;
    if (!manifest) throw new Problem('validate', 'manifest_invalid', `the manifest of '${id}' is broken`, { file });
    const { entrypoint } = manifest;
    if (entrypoint === undefined) throw new Problem('import', 'entrypoint_missing', `'${id}' has no entrypoint`, { file });
    return bundled(declaration, entrypoint);
  }

  /** The values are those of its version; its rights are as they are now. */
  function setupOf({ declaration, config: { config: values, where } }: Version, number: number, bundle: Bundle): Setup {
    const effective = { ...runtime.rights.configOf(declaration), config: values, where };
    const { where: _, ...config } = effective;
    return {
      declaration,
      number,
      bundle,
      places,
      config,
      names: placesOf(effective),
      secrets: Object.fromEntries(
        effective.secrets.flatMap((name) => {
          const shared = secrets.share(name, (recipient) => concerns(recipient, declaration, bundle.shipped));
          return shared.length === 0 ? [] : [[name, shared]];
        }),
      ),
      providers: kernel.providersFor(declaration),
    };
  }

  return {
    construct: async (version, number) => constructed(version, number, await mainOf(version.declaration)),
    async checkSettings(version, number) {
      const remote = await imported(version, number, await mainOf(version.declaration));
      await remote.phase('validate', 'config_invalid', 'host.checkConfig');
      await remote.end('its settings were checked');
    },
    async settingsSchema(version, number) {
      const remote = await imported(version, number, await mainOf(version.declaration));
      const schema = (await remote.phase('validate', 'config_invalid', 'host.settingsSchema')) as JsonValue;
      await remote.end('its settings were read');
      return schema;
    },
    async openEntry(version, entry) {
      const bundle = await bundled(version.declaration, entry);
      const remote = await openRemoteHost(kernel, options, version.declaration, entryFile);
      // A command entry is given no secrets: its context does not give any.
      const setup = { ...setupOf(version, 1, bundle), secrets: {} };
      await remote.phase('import', 'import_failed', 'host.entry', [setup, entry]);
      const list = await remote.phase('call', 'provider_failed', 'command.list');
      const commands = remote.commands.commandsOf(remote.peer, [], list).map((command): Command => ({
        ...command,
        run(...args) {
          remote.asked('call');
          return command.run(...args);
        },
      }));
      return { commands, end: () => remote.end('its command has ended') };
    },
  };
}
