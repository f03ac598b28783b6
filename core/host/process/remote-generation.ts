import type { LanguageModel, ModelCallOptions, ModelPart, Phase } from '../../contract/index.ts';
import { Calls } from '../calls/calls.ts';
import { correlationOf } from '../calls/correlation.ts';
import type { Operation } from '../calls/surface.ts';
import type { HostParts } from '../host-parts.ts';
import type { AgentKeyFinding, Generation, ModelParts } from '../lifecycle/generation.ts';
import { PHASE_LIMIT_MS, STOP_LIMIT_MS } from '../lifecycle/phase-limit.ts';
import { problemOf } from '../problem.ts';
import type { CommandData } from './command-bridge.ts';
import { errorFromData } from './error-data.ts';
import { endWhenIdle } from './idle.ts';
import { checkedOffer } from './offer.ts';
import type { RemoteHost } from './remote-host.ts';

type Made = Pick<Generation, 'number' | 'declaration' | 'shipped' | 'again'>;

/** Initialises what a process has constructed. Rejects with a `Problem`; the process is ended then. */
export async function initializeRemote(host: HostParts, remote: RemoteHost, made: Made): Promise<Generation> {
  const { declaration } = made;
  const { id, manifest } = declaration;
  const offer = await remote.phase('initialize', 'initialize_failed', PHASE_LIMIT_MS, 'host.initialize');
  const { descriptor, operations } = checkedOffer(offer, manifest?.provides ?? []);
  const { peer } = remote;
  const calls = new Calls(host.clock);
  remote.doing = 'call';
  const generation: Generation = {
    ...made,
    tier: 'process',
    surface: {
      descriptor: host.secrets.redactJson(descriptor),
      operations: new Map(operations.map((name) => [name, operationOf(remote, name)])),
    },
    calls,
    run(phase, work) {
      remote.doing = phase;
      remote.used();
      idle.used();
      return work();
    },
    ...lifeOf(host, remote, id, manifest?.provides.includes('service') ?? false),
    checkAgentKey: async (key, value) => {
      generation.run('call', () => undefined);
      return (await peer.call('agentKey', [key, value])) as readonly AgentKeyFinding[];
    },
    getModel: (name, prefix) => generation.run('call', () => modelOf(remote, name, prefix)),
  };
  const idle = endWhenIdle({
    clock: host.clock,
    busy: () => remote.staying || remote.listens || calls.size > 0 || peer.open > 0,
    ended: () => host.idle(generation),
  });
  remote.lost((why) => {
    idle.close();
    host.lost(generation, why, remote.staying || remote.listens);
  });
  const { stop } = generation;
  generation.stop = () => {
    idle.close();
    return stop();
  };
  return generation;
}

/** Commands come with their functions; everything else is data. */
function operationOf(remote: RemoteHost, name: string): Operation {
  const { peer, commands, turns } = remote;
  if (name === 'tool.execute')
    return (values, signalOf) => turns.during(values, () => peer.call(name, values, signalOf, correlationOf(values)));
  if (name !== 'command.getCommands') return (values, signalOf) => peer.call(name, values, signalOf, correlationOf(values));
  return async (values, signalOf) =>
    commands.commandsOf(peer, [], (await peer.call('command.list', values, signalOf)) as readonly CommandData[]);
}

function lifeOf(host: HostParts, remote: RemoteHost, id: string, isService: boolean): Pick<Generation, 'start' | 'stopService' | 'stop'> {
  let started = false;
  const ask = async (phase: Phase, operation: string): Promise<void> => {
    try {
      await remote.phase(phase, 'stop_failed', STOP_LIMIT_MS * 2, operation);
    } catch (error) {
      host.failures.record(id, problemOf(error, 'stop', 'stop_failed'));
    }
  };
  return {
    async start() {
      if (started) return;
      started = true;
      await remote.phase('start', 'start_failed', PHASE_LIMIT_MS, 'host.start');
      remote.doing = isService ? 'background' : 'call';
      remote.staying = isService;
      remote.used();
    },
    async stopService() {
      if (started && isService) await ask('stop', 'host.stopService');
    },
    async stop() {
      await ask('stop', 'host.stop');
      await remote.end('it was stopped');
    },
  };
}

async function modelOf(remote: RemoteHost, name: string, prefix: string): Promise<ModelParts> {
  const { peer } = remote;
  const facts = (await peer.call('model.facts', [name, prefix])) as Omit<LanguageModel, 'doStream'> & {
    readonly contextWindow: number | null;
  };
  const { specificationVersion, provider, modelId, contextWindow } = facts;
  const doStream = async ({ abortSignal, ...options }: ModelCallOptions) => ({
    stream: revived(peer.stream('model.stream', [name, prefix, options], abortSignal) as AsyncIterable<ModelPart>),
  });
  return { contextWindow, model: { specificationVersion, provider: String(provider), modelId: String(modelId), doStream } };
}

/** Errors among the parts crossed as data. */
async function* revived(parts: AsyncIterable<ModelPart>): AsyncGenerator<ModelPart> {
  for await (const part of parts) yield part.type === 'error' ? { ...part, error: errorFromData(part.error) } : part;
}
