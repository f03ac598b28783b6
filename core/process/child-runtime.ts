import {
  type ExtensionContext,
  type JobInfo,
  type Logger,
  PithError,
  type TurnEvent,
  type Protocol,
  type Remote,
  type Events,
  type PublishOptions,
  type Topic,
} from '../contract/index.ts';
import {
  type Phase,
  type HostAgents,
  type Loader,
  type Runtime,
  problemOf,
  type Owner,
  plainFields,
  handleOf,
  type HostJobs,
  onlyInside,
  splitSignal,
  unprovided,
  type ProviderFacts,
  topicOf,
} from '../kernel/index.ts';
import { createSecrets, type SharedSecret, type StoredSecret } from '../trust/index.ts';
import { systemClock, isThenable } from '@pith/promises';
import { errorToData } from './crossing.ts';
import { JOB_METHODS } from './job-calls.ts';
import type { Peer } from '@pith/process-rpc';
import { whereIn, type Setup } from './setup.ts';
import type { Declaration } from '../declarations/index.ts';

interface ChildParts {
  readonly setup: Setup;
  readonly peer: Peer;
  readonly events: ChildEvents;
  readonly providers: Providers;
}

/** What running code takes, in the process of one extension: the same words, answered by the kernel. */
export function createChildRuntime(importing: Loader['import'], { setup, peer, events, providers }: ChildParts): Runtime {
  const { declaration, bundle, config, places } = setup;
  const { id } = declaration;
  const env = Object.fromEntries(
    Object.entries(setup.secrets).flatMap(([name, [first]]) => (first?.for === null ? [[name, first.value ?? '']] : [])),
  );
  const secrets = createSecrets(env, { get: (name) => storedOf(setup.secrets[name]) });
  secrets.declare(Object.keys(setup.secrets));
  const where = whereIn(setup.names);
  const report = (operation: string, error: unknown): void => peer.notify(operation, [errorToData(error)]);
  const ownerOf = (phase: Phase): Owner => ({
    extensionId: id,
    isShipped: false,
    report: (errorCode, error) => report('crashed', problemOf(error, phase, errorCode)),
  });
  return {
    clock: systemClock,
    places,
    loader: {
      bundle: async () => bundle,
      isShipped: () => bundle.shipped,
      isAltered: () => false,
      forget: async () => undefined,
      digestOf: () => Promise.reject(new PithError('internal', 'only the kernel bundles')),
      import: importing,
    },
    secrets,
    services: {
      events,
      agents: agentsOf(peer),
      keyValue: () => methodsOf<ExtensionContext['kv']>(peer, 'kv.', ['get', 'set', 'delete', 'keys']),
      database: () => {
        throw onlyInside('database', 'use context.kv');
      },
      jobs: () => jobsOf(peer),
    },
    // The kernel itself writes who asks for a turn.
    rights: { configOf: () => ({ ...config, where }), tierOf: () => 'process', isForeign: () => false },
    others: { use: (_, protocol) => providers.use(declaration, protocol), find: (_, protocol) => providers.find(protocol) },
    failures: { record: (_, problem) => report('failure', problem) },
    logger: () => loggerOf(peer),
    owner: (_, phase) => {
      // Told before it begins: it may never come to say anything again.
      if (phase === 'background') peer.notify('background', []);
      return ownerOf(phase);
    },
    loaded: () => undefined,
    note: (_, noteCode, message) => peer.notify('note', [noteCode, message]),
    crashed: (_, problem) => report('crashed', problem),
  };
}

/** What was given for others has no value here, only whom it was given for. */
function storedOf(given: readonly SharedSecret[] = []): readonly StoredSecret[] {
  return given.flatMap((each) => (each.for === null ? [] : [{ value: each.value ?? OF_OTHERS, for: each.for }]));
}

/** Stands for a value that only others get. */
const OF_OTHERS = '-';

/** Methods of the kernel, each asked for by its name after `prefix`. */
function methodsOf<T>(peer: Peer, prefix: string, names: readonly (keyof T & string)[]): T {
  const ask =
    (name: string) =>
    (...given: unknown[]) =>
      peer.call(`${prefix}${name}`, given);
  return Object.fromEntries(names.map((name) => [name, ask(name)])) as T;
}

function agentsOf(peer: Peer): HostAgents {
  return {
    ...methodsOf<Omit<HostAgents, 'run'>>(peer, 'agents.', ['list', 'defaultId', 'find', 'check']),
    run: (request, signal) => peer.stream('agents.run', [request], signal) as AsyncIterable<TurnEvent>,
  };
}

function jobsOf(peer: Peer): HostJobs {
  return {
    ...methodsOf<Pick<HostJobs, (typeof JOB_METHODS)[number]>>(peer, 'jobs.', JOB_METHODS),
    statement() {
      throw onlyInside('jobs.statement', 'use jobs.add with unique');
    },
    guard() {
      throw onlyInside('jobs.guard', 'there are no tables to guard');
    },
    watch: (id, signal) => peer.stream('jobs.watch', [id], signal) as AsyncIterable<JobInfo>,
    finished: async (id, signal) => (await peer.call('jobs.finished', [id], signal)) as JobInfo,
  };
}

function loggerOf(peer: Peer): Logger {
  const at =
    (level: string) =>
    (message: string, fields: Readonly<Record<string, unknown>> = {}): void =>
      peer.notify('log', [level, String(message), plainFields(fields)]);
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

/** The providers of other extensions, reached through the kernel. */
export class Providers {
  /** `facts`: as the kernel described them last. */
  constructor(
    private readonly peer: Peer,
    public facts: readonly ProviderFacts[],
  ) {}

  use<T extends object>(user: Declaration, protocol: Protocol<T>): Remote<T> {
    const found = user.manifest?.depends_on.find((each) => this.#fact(each)?.provides.includes(protocol.id));
    if (found === undefined) throw unprovided(user, protocol);
    return this.#remote(found, protocol);
  }

  find<T extends object>(protocol: Protocol<T>): readonly Remote<T>[] {
    return this.facts
      .filter(({ provides, reachable }) => reachable && provides.includes(protocol.id))
      .map(({ id }) => this.#remote(id, protocol));
  }

  #fact(id: string): ProviderFacts | undefined {
    return this.facts.find((each) => each.id === id);
  }

  #remote<T extends object>(extensionId: string, protocol: Protocol<T>): Remote<T> {
    const ask = (how: 'call' | 'stream') => (name: string, args: readonly unknown[]) => {
      const { values, signal } = splitSignal(args);
      return this.peer[how]('use', [extensionId, protocol.id, name, ...values], signal);
    };
    const constant = (name: string): unknown => this.#fact(extensionId)?.constants[`${protocol.id}.${name}`];
    return handleOf(extensionId, protocol, { constant, call: ask('call'), stream: ask('stream') });
  }
}

type Listener = (payload: object) => void | Promise<void>;

/** The kernel's bus, as an extension in its own process sees it: topics are asked for while somebody listens. */
export class ChildEvents implements Events {
  readonly #listeners = new Map<string, Set<Listener>>();

  constructor(private readonly peer: Peer) {}

  readonly publish = ((topic: string | Topic, payload: object, options?: PublishOptions) => {
    const { id, durable } = topicOf(topic);
    return this.peer[durable ? 'call' : 'notify']('events.publish', [id, payload, options]);
  }) as Events['publish'];

  readonly handle = ((topic: string | Topic | undefined, listener: Listener) => {
    if (topic === undefined) return () => undefined; // of an optional dependency that is not there
    const { id } = topicOf(topic);
    const known = this.#listeners.get(id) ?? new Set();
    this.#listeners.set(id, known);
    if (known.size === 0) this.peer.notify('events.handle', [id]);
    known.add(listener);
    return () => {
      if (known.delete(listener) && known.size === 0) this.peer.notify('events.off', [id]);
    };
  }) as Events['handle'];

  /** Events of the kernel. Listeners are isolated by the context that they came through. */
  arrived(topic: string, payload: object): void {
    const listeners = this.#listeners.get(topic) ?? new Set<Listener>();
    for (const listener of listeners) {
      const result: unknown = listener(payload);
      if (isThenable(result)) result.then(undefined, () => undefined); // the context has recorded it
    }
  }
}
