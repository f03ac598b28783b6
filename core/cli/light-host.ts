import { userHome } from '../trust/index.ts';
import { PithError } from '../contract/errors.ts';
import { DURABLE_TOPICS } from '../contract/events.ts';
import type { AgentDeclaration } from '../agents/ports.ts';
import type { AgentSpec, Command, CommandContext, Events, Topic } from '../contract/index.ts';
import type { ExtensionHost } from '../host/host.ts';
import type { DeclaredCommand, ExtensionStatus, HostOptions } from '../host/host-options.ts';
import { openIndexHost } from '../host/index-host.ts';
import { hostOptionsOf, readSandbox, type SandboxReading } from '../host/sandbox-reading.ts';
import { systemClock } from '../host/system-clock.ts';
import type { Target } from './boot.ts';
import { CORE_COMMANDS } from './core-commands.ts';

export interface LightHost {
  commands(): readonly DeclaredCommand[];
  /** The commands of an entry. */
  entry(extensionId: string, entry: string): Promise<readonly Command[]>;
  commandContext(extensionId: string): CommandContext;
  list(): Promise<readonly ExtensionStatus[]>;
  /** A kernel of the same target need not read it again. */
  readonly reading: SandboxReading;
  stop(): Promise<void>;
}

/**
 * What declarations and command entries need, without events, store, models and agents: a command that lists must start fast. The host
 * with all that extensions need is imported only for what the index does not tell.
 */
export async function openLightHost({ sandbox, trust, env, flags, workingDirectory }: Target): Promise<LightHost> {
  const reading = await readSandbox({ sandbox, trust, env, home: userHome(), flags, workingDirectory });
  let whole: Promise<ExtensionHost> | undefined;
  const optionsNow = (): HostOptions => ({
    ...hostOptionsOf(reading),
    clock: systemClock(),
    events: { publish: nothing as Events['publish'], handle: () => () => undefined },
    kernelPaths: () => CORE_COMMANDS,
    keyValue: absent,
    database: absent,
    agents: {
      list: async () => (await all()).agents().flatMap(({ spec }) => spec ?? []),
      find: async (id) => declaredAgent((await all()).agents(), id),
      check: absent,
      run: absent,
    },
  });
  const all = () => (whole ??= import('../host/host.ts').then(({ ExtensionHost: Host }) => Host.create(optionsNow())));
  const index = await openIndexHost(optionsNow());
  return {
    commands: index.commands,
    commandContext: index.commandContext,
    list: async () => (await all()).list(),
    async entry(extensionId, entry) {
      const found = index.commandsIn(extensionId, entry);
      if (found) return found;
      const host = await all();
      return (await host.importCommandEntry(extensionId, entry))(host.commandContext(extensionId));
    },
    reading: Object.assign(reading, { discovery: index.discovery }),
    async stop() {
      await whole?.then(
        (host) => host.stop(),
        () => undefined,
      ); // one that could not be made has been told already
      await index.close();
      await reading.index.save();
    },
  };
}

/** As it is declared: nothing is loaded to see whether it can run. */
async function declaredAgent(declared: readonly AgentDeclaration[], id: string): Promise<AgentSpec> {
  const found = declared.find((agent) => agent.id === id);
  if (found?.spec) return found.spec;
  const { failedAgent, unknownAgent } = await import('../agents/registry/absent-agent.ts');
  if (found !== undefined) throw failedAgent({ id, notes: found.diagnostics });
  throw unknownAgent(
    id,
    declared.map((agent) => agent.id),
  );
}

/** Nobody listens here; what an extension publishes durably it does in a command that needs the kernel. */
function nothing(topic: Topic): Promise<string> | undefined {
  return (DURABLE_TOPICS as readonly Topic[]).includes(topic) ? Promise.reject(absentError()) : undefined;
}

/** A command that needs these says `needs: initialized`. */
function absent(): never {
  throw absentError();
}

function absentError(): PithError {
  return new PithError('internal', 'no kernel is running: this command was declared to need only the index');
}
