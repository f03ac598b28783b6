import {
  codeOf,
  type Diagnostic,
  type LanguageModel,
  messageOf,
  type ModelCallOptions,
  ModelProvider,
  PithError,
  type Protocol,
  type Remote,
} from '../../contract/index.ts';
import { FINDINGS } from '../calls/surface.ts';
import { type Lifecycle, recorded, unavailable } from '../lifecycle/lifecycle.ts';
import { callProvider, remoteOf, running, unprovided } from './handle.ts';
import { runnable, type Slot } from '../lifecycle/actor.ts';
import { type Declaration, keepsNames } from '../../declarations/index.ts';
import { declaredPrefixes, takesNamedServers } from '../../trust/index.ts';
import { isPlainMap, type PlainMap } from '@pith/plain-data';
import type { Problem } from '../records/failures.ts';
import type { Generation, ModelParts } from '../calls/generation.ts';
import { openStream } from '../calls/invoke.ts';
import type { OtherExtensions } from '../lifecycle/runtime.ts';
import type { Scope } from '../lifecycle/scope.ts';
import { type Commands, cureOf } from './commands.ts';
import { createGuards, type Guards } from './guards.ts';
import type { Tools } from './tools.ts';

/** A prefix that an extension offers models under, in the words of its manifest. */
export interface DeclaredModel {
  readonly extensionId: string;
  /** Of an extension that ships, or of one by which a person replaces it. */
  readonly shipped: boolean;
  readonly prefix: string;
  /** Chosen without settings when all of these are set. */
  readonly when_env: readonly string[];
  /** Chosen without settings when the extension finds a local server. */
  readonly when_local: boolean;
  /** Higher wins. */
  readonly rank: number;
  /** The model taken when only the prefix is known; absent: the first that the provider lists. */
  readonly default?: string;
}

/** The models of one extension. Each call goes to the version that runs then. */
export interface RoutedProvider extends Pick<ModelProvider, 'models' | 'findLocal'> {
  getModel(name: string, prefix: string): Promise<ModelParts>;
}

/** What extensions provide. Each call of a `Remote` goes to the version that runs then. */
export interface Providers {
  readonly tools: Tools;
  readonly guards: Guards;
  readonly commands: Commands;
  /** They are passed by reference. `of` rejects `provider_unavailable`. */
  readonly models: { declared(): readonly DeclaredModel[]; of(extensionId: string): Promise<RoutedProvider> };
  /** Of all that could be activated, in the order of their ids. Those that could not are recorded. */
  active<T extends object>(protocol: Protocol<T>): Promise<readonly Remote<T>[]>;
  /** Of those that run now; loads none. */
  running<T extends object>(protocol: Protocol<T>): readonly Remote<T>[];
  /** null: that extension does not provide it. Loads it by the first call. */
  remote<T extends object>(extensionId: string, protocol: Protocol<T>): Remote<T> | null;
  /** What those that run say is wrong in their own matters. Never rejects. */
  findings(): Promise<readonly Diagnostic[]>;
  /** Keeps that an extension answered what its protocol does not allow. */
  record(extensionId: string, problem: Problem): void;
}

export function createProviders(lifecycle: Lifecycle, tools: Tools, commands: Commands): Providers {
  const { runtime, slots } = lifecycle;
  return {
    tools,
    guards: createGuards(lifecycle),
    commands,
    models: {
      declared: () =>
        runnable(slots).flatMap(({ id, declaration, config: { config } }) =>
          [...(declaration.manifest?.models ?? []), ...namedServers(declaration, config)].map((model) => ({
            extensionId: id,
            shipped: keepsNames(declaration),
            ...model,
          })),
        ),
      of: (extensionId) => modelsOf(lifecycle, extensionId),
    },
    async active(protocol) {
      const able = runnable(slots).filter((slot) => provides(slot, protocol));
      const ready = await Promise.all(able.map((slot) => lifecycle.ready(slot).catch(recorded)));
      return able.filter((_, index) => ready[index] !== undefined).map(({ id }) => remoteOf(lifecycle, id, protocol));
    },
    running: (protocol) =>
      [...slots.values()]
        .filter((slot) => slot.current !== null && provides(slot, protocol))
        .map(({ id }) => remoteOf(lifecycle, id, protocol)),
    remote: (extensionId, protocol) => (provides(slots.get(extensionId), protocol) ? remoteOf(lifecycle, extensionId, protocol) : null),
    findings: () => extensionFindings(lifecycle),
    record: (extensionId, problem) => void runtime.failures.record(extensionId, problem),
  };
}

/** The prefixes that only the settings name. A person chooses their models, and nothing else does. */
function namedServers(declaration: Declaration, config: PlainMap): readonly Omit<DeclaredModel, 'extensionId' | 'shipped'>[] {
  const own = declaredPrefixes([declaration]);
  const named = takesNamedServers(declaration) && isPlainMap(config['providers']) ? Object.keys(config['providers']) : [];
  return named.filter((prefix) => !own.has(prefix)).map((prefix) => ({ prefix, when_env: [], when_local: false, rank: 1 }));
}

/** What the kernel answers an extension of its process; what that takes ends with `scope`. */
export type Answer = (user: Declaration, scope: Scope) => object;

/** What extensions reach of each other. `answers`: what the kernel itself answers extensions of its process, by the id of the protocol. */
export function createOtherExtensions(lifecycle: Lifecycle, commands: Commands, answers: ReadonlyMap<string, Answer>): OtherExtensions {
  const { slots } = lifecycle;
  const ofKernel = <T extends object>(user: Declaration, { id }: Protocol<T>, scope: Scope): readonly Remote<T>[] => {
    const members = answers.get(id)?.(user, scope);
    return members ? [Object.freeze({ extensionId: 'kernel', ...members }) as Remote<object> as Remote<T>] : [];
  };
  /** Commands carry functions, which are run in their extension's name. */
  const reached = <T extends object>(id: string, protocol: Protocol<T>): Remote<T> =>
    protocol.id === 'command'
      ? (Object.freeze({ extensionId: id, getCommands: async () => (slots.has(id) ? commands.of(id) : []) }) as Remote<object> as Remote<T>)
      : remoteOf(lifecycle, id, protocol);
  return {
    use(user, protocol, scope) {
      const id = user.manifest?.depends_on.find((each) => provides(slots.get(each), protocol));
      if (id !== undefined) return reached(id, protocol);
      const [answer] = ofKernel(user, protocol, scope);
      if (answer) return answer;
      throw unprovided(user, protocol);
    },
    find: <T extends object>(user: Declaration, protocol: Protocol<T>, scope: Scope) => [
      ...ofKernel(user, protocol, scope),
      ...runnable(slots)
        .filter((slot) => slot.id !== user.id && provides(slot, protocol))
        .map(({ id }) => reached(id, protocol)),
    ],
  };
}

function provides(slot: Slot | undefined, { id }: Protocol): boolean {
  return slot?.declaration.manifest?.provides.includes(id) ?? false;
}

/** Each call of a model goes to the version that runs then, in the extension's name. */
async function modelsOf(lifecycle: Lifecycle, extensionId: string): Promise<RoutedProvider> {
  const slot = lifecycle.slots.get(extensionId);
  if (!slot || !provides(slot, ModelProvider)) throw unavailable(extensionId, 'it provides no models');
  await lifecycle.ready(slot);
  const { models, findLocal } = remoteOf(lifecycle, extensionId, ModelProvider);
  return {
    models,
    findLocal,
    async getModel(name, prefix) {
      const found = oncePerVersion((generation) => generation.getModel(name, prefix));
      const { model, contextWindow } = await found(await running(lifecycle, extensionId));
      const { specificationVersion, provider, modelId } = model;
      const doStream: LanguageModel['doStream'] = async (options: ModelCallOptions) => {
        const generation = await running(lifecycle, extensionId);
        const { model: each } = await found(generation);
        const ask = (abortSignal: AbortSignal) => generation.run('call', () => each.doStream({ ...options, abortSignal }));
        return { stream: await openStream(generation, options.abortSignal, async (signal) => (await ask(signal)).stream) };
      };
      return { contextWindow, model: { specificationVersion, provider, modelId, doStream } };
    },
  };
}

function oncePerVersion<T>(make: (generation: Generation) => T): (generation: Generation) => T {
  const made = new WeakMap<Generation, { readonly value: T }>();
  return (generation) => {
    const known = made.get(generation) ?? { value: make(generation) };
    made.set(generation, known);
    return known.value;
  };
}

/** What extensions that run say is wrong in their own matters. Never rejects: that one does not say it is a finding. */
export async function extensionFindings(lifecycle: Lifecycle): Promise<readonly Diagnostic[]> {
  const asked = [...lifecycle.slots.values()].filter(({ current }) => current?.surface.operations.has(FINDINGS));
  const found = await Promise.all(asked.map(({ id }) => findingsOf(lifecycle, id)));
  return lifecycle.runtime.secrets.redactJson(found.flat());
}

async function findingsOf(lifecycle: Lifecycle, id: string): Promise<readonly Diagnostic[]> {
  try {
    const { findingsSchema } = await import('../calls/answers.ts'); // zod
    const { data } = findingsSchema().safeParse(await callProvider(lifecycle, id, FINDINGS, []));
    if (data) return data;
    throw new PithError('provider_failed', 'it returned no list of { severity, code, message, file?, line?, column?, cure? }');
  } catch (error) {
    const code = codeOf(error, 'provider_failed');
    if (code === 'interrupted' || code === 'stopped') return []; // it ended or was replaced meanwhile
    const message = `the extension '${id}' cannot say what it finds: ${messageOf(error)}`;
    return [{ severity: 'error', code, message, cure: cureOf(error, id) }];
  }
}
