import {
  type Clock,
  type JsonValue,
  type LanguageModel,
  type ModelCallOptions,
  type ModelPart,
  PithError,
  type ToolCall,
} from '../contract/index.ts';
import {
  Calls,
  checkedEnd,
  correlationOf,
  type Operation,
  type Runtime,
  type TierKernel,
  type AgentKeyCheck,
  type Generation,
  type ModelParts,
  problemOf,
} from '../kernel/index.ts';
import { errorFromData, mapParts, givenObject, givenText } from './crossing.ts';
import { checkedOffer, checkedPrompt, checkedResult, checkedTools } from './offer.ts';
import type { RemoteHost } from './remote-host.ts';

type Made = Pick<Generation, 'number' | 'declaration' | 'config' | 'shipped' | 'again'>;

/** Initialises what a process has constructed. Rejects with a `Problem`; the process is ended then. */
export async function initializeRemote(kernel: TierKernel, remote: RemoteHost, made: Made): Promise<Generation> {
  const { runtime } = kernel;
  const { declaration } = made;
  const { id, manifest } = declaration;
  const offer = await remote.phase('initialize', 'initialize_failed', 'host.initialize');
  const { descriptor, operations } = await checked(remote, () => checkedOffer(offer, manifest?.provides ?? []));
  const { peer } = remote;
  const calls = new Calls(runtime.clock);
  remote.asked('call');
  const generation: Generation = {
    ...made,
    tier: 'process',
    surface: {
      descriptor: runtime.secrets.redactJson(descriptor),
      operations: new Map(operations.map((name) => [name, operationOf(remote, name, descriptor.operations[name]?.stream)])),
    },
    calls,
    run(phase, work) {
      remote.asked(phase);
      idle.used();
      return work();
    },
    ...lifeOf(runtime, remote, id, manifest?.provides.includes('service') ?? false),
    checkAgentKey: async (key, value) => {
      generation.run('call', () => undefined);
      return (await peer.call('agentKey', [key, value])) as AgentKeyCheck;
    },
    renderPrompt: async (prompt, signal) => checkedPrompt(await generation.run('call', () => peer.call('prompt.render', [prompt], signal))),
    getModel: (name, prefix) => generation.run('call', () => modelOf(remote, name, prefix)),
  };
  const isBusy = () => remote.isNeeded || calls.size > 0 || peer.open > 0;
  const idle = endWhenIdle(runtime.clock, isBusy, () => kernel.idle(generation));
  remote.lost((why) => {
    idle.close();
    kernel.lost(generation, why, remote.isNeeded);
  });
  const { stop } = generation;
  generation.stop = () => {
    idle.close();
    return stop();
  };
  return generation;
}

/** The process that said something else is ended. */
async function checked<T>(remote: RemoteHost, read: () => T): Promise<T> {
  try {
    return read();
  } catch (error) {
    await remote.end('it was ended after an error');
    throw problemOf(error, 'initialize', 'provides_mismatch');
  }
}

/** Commands come with their functions; everything else is data. */
function operationOf({ peer, commands, turns }: RemoteHost, name: string, isStream = false): Operation {
  if (name === 'command.getCommands')
    return async (values, signal) => commands.commandsOf(peer, [], await peer.call('command.list', values, signal));
  const ask: Operation = (values, signal) => peer.call(name, values, signal, correlationOf(values));
  if (name.startsWith('job.'))
    return async (values, signal) => {
      const end = await peer.callToEnd(name, values, signal, correlationOf(values));
      return name.endsWith('.ended') ? undefined : checkedEnd(end);
    };
  if (name.startsWith('handler.')) return (values, signal) => peer.callToEnd(name, values, signal, correlationOf(values));
  if (isStream) return async (values, signal) => peer.stream(name, values, signal, correlationOf(values));
  if (name === 'tool.execute')
    return async (values, signal) => {
      const [, , call] = values as readonly [tool: string, input: JsonValue, call: ToolCall];
      return checkedResult(await turns.during(call.turn, () => ask(values, signal) as Promise<unknown>));
    };
  if (name === 'tool.describe') return async (values, signal) => checkedTools(await ask(values, signal));
  return ask;
}

function lifeOf(
  { failures }: Pick<Runtime, 'failures'>,
  remote: RemoteHost,
  id: string,
  isService: boolean,
): Pick<Generation, 'start' | 'stopService' | 'stop'> {
  let started = false;
  let serves = false;
  const ask = async (operation: string): Promise<void> => {
    if (remote.ending) return;
    try {
      await remote.phase('stop', 'stop_failed', operation);
    } catch (error) {
      failures.record(id, problemOf(error, 'stop', 'stop_failed'));
    }
  };
  return {
    async start(withService) {
      if (started && (serves || !withService || !isService)) return;
      started = true;
      serves = isService && withService;
      await remote.phase('start', 'start_failed', 'host.start', [withService]);
      remote.started(serves);
    },
    async stopService() {
      if (serves) await ask('host.stopService');
    },
    async stop() {
      await ask('host.stop');
      await remote.end('it was stopped');
    },
  };
}

async function modelOf(remote: RemoteHost, name: string, prefix: string): Promise<ModelParts> {
  const { peer } = remote;
  const facts = givenObject(await peer.call('model.facts', [name, prefix]), `the model '${name}'`);
  const { specificationVersion, provider, modelId, contextWindow } = facts;
  const doStream = async ({ abortSignal, ...options }: ModelCallOptions) => ({
    stream: mapParts(peer.stream('model.stream', [name, prefix, options], abortSignal), revived),
  });
  return {
    contextWindow: typeof contextWindow === 'number' ? contextWindow : null,
    model: {
      specificationVersion: specificationVersion as LanguageModel['specificationVersion'],
      provider: givenText(provider, 'the provider of a model'),
      modelId: givenText(modelId, 'the id of a model'),
      doStream,
    },
  };
}

/** A part of an answer; errors crossed as data. */
function revived(part: unknown): ModelPart {
  const { type, error } = (typeof part === 'object' && part !== null ? part : {}) as { readonly type?: unknown; readonly error?: unknown };
  if (typeof type !== 'string') throw new PithError('provider_failed', 'the answer of the model has a part of an unknown kind');
  return type === 'error' ? { type, error: errorFromData(error) } : (part as ModelPart);
}

const IDLE_MS = 5 * 60_000;

/** Calls `ended` once, when five minutes have gone by without use. Being used costs a look at the clock and no timer. */
function endWhenIdle(clock: Clock, busy: () => boolean, ended: () => void): { used(): void; close(): void } {
  let last = clock.now();
  let cancel = clock.after(IDLE_MS, check);
  function check(): void {
    const now = clock.now();
    last = Math.min(last, now); // the clock may have been set back
    const rest = last + IDLE_MS - now;
    if (busy()) last = now;
    else if (rest <= 0) return ended();
    cancel = clock.after(rest > 0 ? rest : IDLE_MS, check);
  }
  return {
    used: () => void (last = clock.now()),
    close: () => cancel(),
  };
}
