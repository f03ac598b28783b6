import type { Command } from '../../contract/index.ts';
import type { HostParts } from '../host-parts.ts';
import type { Version } from '../lifecycle/generation.ts';
import { PHASE_LIMIT_MS } from '../lifecycle/phase-limit.ts';
import { bundleOf, processEntry, setupOf } from './remote-candidate.ts';
import { openRemoteHost } from './remote-host.ts';

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
