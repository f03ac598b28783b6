import os from 'node:os';
import { PithError } from '../contract/errors.ts';
import { DURABLE_TOPICS } from '../contract/events.ts';
import type { Events, Topic } from '../contract/index.ts';
import { ExtensionHost } from '../host/host.ts';
import { hostOptionsOf, readSandbox, type SandboxReading } from '../host/sandbox-reading.ts';
import { systemClock } from '../host/system-clock.ts';
import type { Target } from './boot.ts';

export interface LightHost {
  readonly extensions: Pick<ExtensionHost, 'commands' | 'importCommandEntry' | 'commandContext' | 'list'>;
  /** A kernel of the same target need not read it again. */
  readonly reading: SandboxReading;
  stop(): Promise<void>;
}

/** What declarations and command entries need, without events, store, models and agents: a command that lists must start fast. */
export async function openLightHost({ sandbox, env, flags, workingDirectory }: Target): Promise<LightHost> {
  const reading = await readSandbox({ sandbox, env, home: os.homedir(), flags, workingDirectory });
  const extensions: ExtensionHost = await ExtensionHost.create({
    ...hostOptionsOf(reading),
    clock: systemClock(),
    events: { publish: nothing as Events['publish'], handle: () => () => undefined },
    keyValue: absent,
    database: absent,
    agents: { list: async () => extensions.agents().flatMap(({ spec }) => spec ?? []), check: absent, run: absent },
  });
  return {
    extensions,
    reading: Object.assign(reading, { discovery: extensions.discovery }),
    async stop() {
      await extensions.stop();
      await reading.index.save();
    },
  };
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
