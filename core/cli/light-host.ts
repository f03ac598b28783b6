import os from 'node:os';
import path from 'node:path';
import { PithError } from '../contract/errors.ts';
import { configOf, enabledBy } from '../host/settings/config-of.ts';
import { discover } from '../host/discovery/discover.ts';
import { ExtensionHost } from '../host/host.ts';
import { openIndex } from '../host/discovery/index-file.ts';
import { packageRoot } from '../host/package-version.ts';
import type { Prepared } from '../host/prepared.ts';
import { sandboxRoots } from '../host/discovery/roots.ts';
import { loadSettings } from '../host/settings/settings.ts';
import { systemClock } from '../host/system-clock.ts';
import type { Target } from './boot.ts';

export interface LightHost {
  readonly extensions: Pick<ExtensionHost, 'commands' | 'importCommandEntry' | 'commandContext' | 'list'>;
  /** What was read: a kernel of the same target need not read it again. */
  readonly prepared: Prepared;
  stop(): Promise<void>;
}

/** What declarations and command entries need, without events, store, models and agents: a command that lists must start fast. */
export async function openLightHost({ sandbox, env, flags }: Target): Promise<LightHost> {
  const installation = packageRoot();
  const index = openIndex(path.join(env['PITH_DATA_DIR'] ?? path.join(sandbox, 'data'), '.cache', 'index.json'));
  const loaded = await loadSettings({ sandbox, home: os.homedir(), env, flags, index });
  const { settings } = loaded;
  const roots = sandboxRoots(sandbox, installation, true);
  const extensions: ExtensionHost = await ExtensionHost.create({
    sandbox,
    dataDirectory: settings.data_dir,
    packageRoot: installation,
    discover: () => discover({ roots, agentPaths: settings.agents.paths, index, isEnabled: enabledBy(settings) }),
    configOf: (declaration) => configOf(declaration, settings),
    watched: [],
    index,
    clock: systemClock(),
    events: { publish: () => undefined, handle: () => () => undefined },
    env,
    keyValue: absent,
    database: absent,
    agents: { list: async () => extensions.agents().flatMap(({ spec }) => spec ?? []), run: absent },
  });
  return {
    extensions,
    prepared: { index, loaded, discovery: extensions.discovery },
    async stop() {
      await extensions.stop();
      await index.save();
    },
  };
}

/** A command that needs these says `needs: initialized`. */
function absent(): never {
  throw new PithError('internal', 'no kernel is running: this command was declared to need only the index');
}
