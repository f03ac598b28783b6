import { createHash } from 'node:crypto';
import type { PithError } from '../../contract/index.ts';
import { type Failure, type Declaration, isBlocked, type ExtensionConfig } from '../../declarations/index.ts';
import { canonicalJson } from '@pith/plain-data';
import type { Generation, Version } from '../calls/generation.ts';
import type { Runtime } from './runtime.ts';
import { type Effect, initialState, type LifeEvent, type Starts, type State, type Wanted } from './state.ts';
import { isPending, usesFallback, reduce, versionIn } from './reduce.ts';

/** What a declared extension is at this moment. `idle`: declared and healthy, its code not loaded yet. */
export type ExtensionState = 'active' | 'idle' | 'failed' | 'blocked' | 'disabled';

export function canRun(state: ExtensionState | undefined): boolean {
  return state === 'active' || state === 'idle';
}

export interface ActorOptions {
  readonly id: string;
  readonly wanted: Wanted;
  readonly starts: Starts;
  /** Does it, and posts what comes of it. Never throws. */
  run(actor: ExtensionActor, effect: Effect): void;
  /** The error for callers when no version comes. */
  unavailable(actor: ExtensionActor, why: string | null): PithError;
}

/** A version that is waited for. */
interface PendingVersion {
  readonly version: Promise<Generation>;
  resolve(generation: Generation): void;
  reject(error: PithError): void;
}

/** The mailbox of one extension id, and its state, which nothing else writes. Lives as long as the host. */
export class ExtensionActor implements Version {
  readonly id: string;
  #state: State;
  /** What was last wanted, also when its folder is gone. */
  #written: Wanted;
  readonly #mailbox: LifeEvent[] = [];
  #isWorking = false;
  #pending: PendingVersion | null = null;
  readonly #settled: (() => void)[] = [];
  readonly #notes = new Map<string, string>();

  constructor(private readonly options: ActorOptions) {
    this.id = options.id;
    this.#state = initialState(options.starts);
    this.#written = options.wanted;
  }

  get declaration(): Declaration {
    return this.#version.declaration;
  }

  get config(): ExtensionConfig {
    return this.#version.config;
  }

  /** As the folder and the settings have it now. Differs from what it declares while the last good version runs instead. */
  get written(): Version {
    return this.#written;
  }

  /** Why what is declared cannot run as it is written. */
  get declared(): Failure | null {
    return usesFallback(this.#state) ? null : this.#written.declared;
  }

  /** The version that answers calls. */
  get current(): Generation | null {
    return this.#state.live;
  }

  /** A version that runs is on its way; rejects `provider_unavailable`. */
  get pending(): Promise<Generation> | null {
    return isPending(this.#state) ? this.nextVersion() : null;
  }

  /** Why loading it failed, until it changes or is reloaded by hand. */
  get failure(): Failure | null {
    return this.#state.failure;
  }

  /** Findings that do not stop it, with their codes. */
  get notes(): ReadonlyMap<string, string> {
    return this.#notes;
  }

  /** Takes events in their order; an event that comes of an effect waits for its turn. */
  post(event: LifeEvent): void {
    this.#mailbox.push(event);
    if (this.#isWorking) return;
    this.#isWorking = true;
    try {
      for (let next = this.#mailbox.shift(); next; next = this.#mailbox.shift()) this.#take(next);
    } finally {
      this.#isWorking = false;
    }
    this.#notifyWaiters();
  }

  /** The version that runs next. Rejects `provider_unavailable` when none comes of what is under way. */
  nextVersion(): Promise<Generation> {
    if (this.#state.live) return Promise.resolve(this.#state.live);
    return (this.#pending ??= pendingVersion()).version;
  }

  /** When nothing is under way. */
  settled(): Promise<void> {
    return this.#state.job === null ? Promise.resolve() : new Promise((resolve) => this.#settled.push(resolve));
  }

  /** Keeps a finding among the last few, cut to what anybody reads. */
  note(message: string, code: string): void {
    const text = message.length > LONGEST_NOTE ? `${message.slice(0, LONGEST_NOTE)}…` : message;
    this.#notes.delete(text); // said again: it is the newest
    this.#notes.set(text, code);
    for (const oldest of this.#notes.keys()) {
      if (this.#notes.size <= MOST_NOTES) break;
      this.#notes.delete(oldest);
    }
  }

  get #version(): Version {
    return versionIn(this.#state) ?? this.#written;
  }

  #take(event: LifeEvent): void {
    const [state, effects] = reduce(this.#state, event);
    this.#state = state;
    if (state.wanted) this.#written = state.wanted;
    for (const effect of effects)
      if (effect.type === 'forget notes') this.#notes.clear();
      else this.options.run(this, effect);
  }

  #notifyWaiters(): void {
    const { live, job, refused } = this.#state;
    if (live !== null || job === null) {
      const pending = this.#pending;
      this.#pending = null;
      if (live) pending?.resolve(live);
      else pending?.reject(this.options.unavailable(this, refused));
    }
    if (job !== null) return;
    for (const resolve of this.#settled.splice(0)) resolve();
  }
}

function pendingVersion(): PendingVersion {
  let settle: Omit<PendingVersion, 'version'>;
  const version = new Promise<Generation>((resolve, reject) => (settle = { resolve, reject }));
  version.catch(() => undefined); // whoever only asks whether one is coming waits for none
  return { version, ...settle! };
}

const MOST_NOTES = 50;
const LONGEST_NOTE = 2000;

/** One extension as others see it: what it declares, and which version runs. */
export type Slot = Omit<ExtensionActor, 'post' | 'nextVersion' | 'settled' | 'note'>;

type Slots = ReadonlyMap<string, Slot>;

export function stateOf(slots: Slots, slot: Slot): ExtensionState {
  if (!slot.written.config.enabled) return 'disabled';
  // A version that runs stays, also when its manifest has been broken since.
  if (slot.current) return 'active';
  if (slot.failure) return 'failed';
  if (slot.declared && isLasting(slots, slot, slot.declared)) return isBlocked(slot.declared) ? 'blocked' : 'failed';
  return blockerOf(slots, slot) === undefined ? 'idle' : 'blocked';
}

/** What was found when the folders were read may have been overtaken: what it depends on may run, as its last good version. */
function isLasting(slots: Slots, slot: Slot, failure: Failure): boolean {
  if (failure.code !== 'dependency_failed') return true;
  return blockerOf(slots, slot) !== undefined || !(slot.declaration.manifest?.depends_on ?? []).every((id) => slots.has(id));
}

/** The hard dependency that keeps an extension from running. */
export function blockerOf(slots: Slots, slot: Slot): Slot | undefined {
  for (const id of slot.declaration.manifest?.depends_on ?? []) {
    const dependency = slots.get(id);
    if (dependency && !dependency.pending && !canRun(stateOf(slots, dependency))) return dependency;
  }
  return undefined;
}

/** Those that run or can run. */
export function runnable(slots: Slots): readonly Slot[] {
  return [...slots.values()].filter((slot) => slot.pending || canRun(stateOf(slots, slot)));
}

/** What folder and settings want of an extension. The secrets that it may have are hidden from here on. */
export function wantedOf(
  { rights, secrets }: Pick<Runtime, 'rights' | 'secrets'>,
  declaration: Declaration,
  declared: Failure | null,
): Wanted {
  const config = rights.configOf(declaration);
  secrets.declare(config.secrets);
  const { digest, directory, withheld = [], replacesShipped = false } = declaration;
  return { declaration, config, declared, key: canonicalJson([digest, directory, withheld, replacesShipped, JSON.stringify(config)]) };
}

/** Changes whenever sources or configuration do, and when a secret is set or taken out: a tool may need one to be there. */
export function slotKey({ declaration, config }: Version, { isSet }: Pick<Runtime['secrets'], 'isSet'>): string {
  const secrets = config.secrets.filter(isSet).sort();
  const key = createHash('sha256').update(declaration.digest).update('\0').update(canonicalJson(config.config));
  if (secrets.length > 0) key.update('\0').update(canonicalJson(secrets));
  return key.digest('hex').slice(0, 32);
}
