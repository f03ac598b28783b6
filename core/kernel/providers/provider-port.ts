import { canRun, type ContextSource, type RoutedProvider } from '../records/extensions-port.ts';
import {
  type ContextDocument,
  type ContextParts,
  type ModelCallOptions,
  ModelProvider as ModelProtocol,
  type Protocol,
  type Remote,
  type TurnInfo,
} from '../../contract/index.ts';
import { callProvider, remoteOf, running } from './handle.ts';
import { openStream } from '../calls/open-stream.ts';
import { recorded, unavailable, type Lifecycle } from '../lifecycle/lifecycle.ts';
import type { Generation } from '../calls/generation.ts';
import { Problem } from '../records/problem.ts';
import type { Slot } from '../lifecycle/slot.ts';

/** Extensions that provide `id` and could be activated, in the order of their ids. Those that could not are recorded. */
export async function activeProviders(lifecycle: Lifecycle, id: string): Promise<readonly Slot[]> {
  const slots = [...lifecycle.slots.values()].filter((slot) => provides(slot, id) && (slot.pending || canRun(lifecycle.stateOf(slot))));
  const ready = await Promise.all(slots.map((slot) => slot.current ?? lifecycle.ready(slot).catch(recorded)));
  return slots.filter((_, index) => ready[index] !== undefined);
}

export async function activeRemotes<T extends object>(lifecycle: Lifecycle, protocol: Protocol<T>): Promise<readonly Remote<T>[]> {
  return (await activeProviders(lifecycle, protocol.id)).map(({ id }) => remoteOf(lifecycle, id, protocol));
}

/** Of the extensions that run now; loads none. */
export function runningRemotes<T extends object>(lifecycle: Lifecycle, protocol: Protocol<T>): readonly Remote<T>[] {
  const slots = [...lifecycle.slots.values()].filter((slot) => slot.current !== null && provides(slot, protocol.id));
  return slots.map(({ id }) => remoteOf(lifecycle, id, protocol));
}

/** By priority, then id. */
export async function contextSources(lifecycle: Lifecycle): Promise<readonly ContextSource[]> {
  const slots = await activeProviders(lifecycle, 'context');
  return slots
    .map((slot) => contextSource(lifecycle, slot))
    .sort((a, b) => a.priority - b.priority || (a.extensionId < b.extensionId ? -1 : 1));
}

/** Each call of a model goes to the version that runs then, in the extension's name. Rejects `provider_unavailable`. */
export async function modelProvider(lifecycle: Lifecycle, extensionId: string): Promise<RoutedProvider> {
  const slot = lifecycle.slots.get(extensionId);
  if (!slot || !provides(slot, 'model')) throw unavailable(extensionId, 'it provides no models');
  await lifecycle.ready(slot);
  const { models, findLocal } = remoteOf(lifecycle, extensionId, ModelProtocol);
  return {
    models,
    findLocal,
    async getModel(name, prefix) {
      const found = modelsOf(name, prefix);
      const { model, contextWindow } = await found(await running(lifecycle, extensionId));
      const { specificationVersion, provider, modelId } = model;
      return { contextWindow, model: { specificationVersion, provider, modelId, doStream } };

      async function doStream(options: ModelCallOptions) {
        const generation = slot?.current ?? (await running(lifecycle, extensionId));
        const { model: each } = await found(generation);
        const ask = (abortSignal: AbortSignal) => generation.run('call', () => each.doStream({ ...options, abortSignal }));
        return { stream: await openStream(generation, options.abortSignal, async (signal) => (await ask(signal)).stream) };
      }
    },
  };
}

/** One model as each version of its extension makes it, once a version. */
function modelsOf(name: string, prefix: string): (generation: Generation) => ReturnType<Generation['getModel']> {
  const made = new WeakMap<Generation, ReturnType<Generation['getModel']>>();
  return (generation) => {
    let found = made.get(generation);
    if (!found) made.set(generation, (found = generation.getModel(name, prefix)));
    return found;
  };
}

function contextSource(lifecycle: Lifecycle, { id }: Slot): ContextSource {
  const constants = (): Readonly<Record<string, unknown>> => {
    const slot = lifecycle.slots.get(id);
    return (slot && lifecycle.descriptorOf(slot)?.constants) ?? {};
  };
  const priority = Number(constants()['context.contextPriority']);
  return {
    extensionId: id,
    priority,
    placement: constants()['context.placement'] === 'turn' ? 'turn' : 'system',
    async getContext(prompt: string, turn: TurnInfo, signal: AbortSignal) {
      const found = await callProvider(lifecycle, id, 'context.getContext', [prompt, turn, signal]);
      return checked(lifecycle, id, found);
    },
  };
}

function checked(lifecycle: Lifecycle, id: string, found: unknown): string | ContextParts | null {
  const { redact } = lifecycle.runtime.secrets;
  if (found === null || found === undefined) return null;
  if (typeof found === 'string') return redact(found);
  const { system, turn, documents } = found as ContextParts;
  const isText = (part: unknown) => part === undefined || typeof part === 'string';
  if (typeof found === 'object' && isText(system) && isText(turn) && areDocuments(documents)) {
    return {
      ...(system === undefined ? {} : { system: redact(system) }),
      ...(turn === undefined ? {} : { turn: redact(turn) }),
      ...(documents === undefined ? {} : { documents: documents.map((each) => cleanDocument(each, redact)) }),
    };
  }
  const problem = new Problem(
    'getContext',
    'provider_failed',
    `getContext of '${id}' returned neither text nor { system?, turn?, documents? } nor null`,
  );
  lifecycle.runtime.failures.record(id, problem);
  throw problem;
}

function cleanDocument({ key, digest, text, instead, line }: ContextDocument, redact: (text: string) => string): ContextDocument {
  return {
    key,
    digest,
    text: redact(text),
    ...(instead === undefined ? {} : { instead: redact(instead) }),
    ...(line === undefined ? {} : { line: redact(line) }),
  };
}

const MOST_DOCUMENTS = 100;

function areDocuments(value: unknown): boolean {
  if (value === undefined) return true;
  const isDocument = (each: unknown): boolean => {
    const {
      key,
      digest,
      text,
      instead = '',
      line = '',
    } = (typeof each === 'object' && each !== null ? each : {}) as Partial<ContextDocument>;
    return [key, digest, text, instead, line].every((part) => typeof part === 'string');
  };
  return Array.isArray(value) && value.length <= MOST_DOCUMENTS && value.every(isDocument);
}

function provides({ declaration }: Slot, id: string): boolean {
  return declaration.manifest?.provides.includes(id) ?? false;
}
