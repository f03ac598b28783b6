import type { Command, CommandContext } from '../contract/index.ts';
import { createBundleStore } from './bundles/bundle-store.ts';
import { cleanly, owned } from './calls/owned-command.ts';
import { DIRECT } from './calls/wire.ts';
import { commandNames } from './command-names.ts';
import { declaredCommands } from './declared-commands.ts';
import type { Discovery } from './discovery/declaration.ts';
import { createFailures } from './failures.ts';
import type { DeclaredCommand, HostOptions } from './host-options.ts';
import { createCommandContext } from './lifecycle/command-context.ts';
import { importCommands } from './lifecycle/import-commands.ts';
import { extensionsOf, wantedOf, type Slot } from './lifecycle/slot.ts';
import { tierOf } from './lifecycle/tier-of.ts';
import { createLog } from './logger.ts';
import { createOwners } from './owners.ts';
import { Problem } from './problem.ts';
import { createSecrets } from './secrets.ts';
import { guardProcess } from './stray-errors.ts';

/** What the index alone can answer of a sandbox's extensions. It brings none to life and imports nothing that would. */
export interface IndexHost {
  readonly discovery: Discovery;
  commands(): readonly DeclaredCommand[];
  /** Those of a command entry; null where its extension runs in a process of its own. Rejects with the reason. */
  commandsIn(extensionId: string, entry: string): Promise<readonly Command[]> | null;
  /** Its `config` is as the settings have it; no schema has been applied. */
  commandContext(extensionId: string): CommandContext;
  close(): Promise<void>;
}

export async function openIndexHost(options: HostOptions): Promise<IndexHost> {
  const { clock, dataDirectory, packageRoot, logLevel = 'info' } = options;
  const discovery = await options.discover(clock.now());
  const secrets = createSecrets(options.env, options.storedSecrets);
  const log = createLog({ dataDirectory, level: logLevel, clock, quota: options.quotas, redact: secrets.redact });
  const failures = createFailures({ clock, events: options.events, logger: log.logger('host'), redact: secrets.redact });
  const parts = {
    options,
    clock,
    secrets,
    bundles: createBundleStore({ dataDirectory, packageRoot }),
    wire: DIRECT,
    logger: (name: string) => log.logger(name),
    ...createOwners((id, problem) => void failures.record(id, problem)),
  };
  const slots = new Map(
    extensionsOf(discovery).map((each) => {
      const wanted = wantedOf(parts, each, discovery.failures);
      const slot: Slot = { ...wanted, id: each.id, written: wanted, current: null, pending: null, failure: null, notes: new Map() };
      return [each.id, slot] as const;
    }),
  );
  const unguard = guardProcess(secrets.redact);

  function commandContext(extensionId: string): CommandContext {
    const slot = slots.get(extensionId);
    if (!slot) throw new Problem('import', 'import_failed', `nothing declares '${extensionId}'`);
    return createCommandContext(parts, slot.declaration, slot.config.config);
  }

  async function imported(extensionId: string, entry: string): Promise<readonly Command[]> {
    const context = commandContext(extensionId);
    try {
      const make = await importCommands(parts, slots.get(extensionId)!.declaration, entry);
      const commands = (await cleanly(parts, async () => make(context))).map((command) => owned(parts, extensionId, command));
      return commandNames(slots, options).under(extensionId, commands);
    } catch (error) {
      if (error instanceof Problem) failures.record(extensionId, error);
      throw secrets.redactError(error);
    }
  }

  return {
    discovery,
    commands: () => declaredCommands(slots, options),
    commandsIn(extensionId, entry) {
      const slot = slots.get(extensionId);
      return slot && tierOf(parts, slot.declaration) === 'in_process' ? imported(extensionId, entry) : null;
    },
    commandContext,
    async close() {
      unguard();
      log.close();
    },
  };
}
