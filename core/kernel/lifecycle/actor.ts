import type { Failure, PithError } from '../../contract/index.ts';
import type { ExtensionConfig } from '../settings/config-of.ts';
import type { Declaration } from '../discovery/declaration.ts';
import type { Generation, Version } from '../calls/generation.ts';
import { isComing, isStandingIn, reduce, versionIn } from './reduce.ts';
import type { Slot } from './slot.ts';
import { initialState, type Effect, type LifeEvent, type Starts, type State, type Wanted } from './state.ts';

export interface ActorOptions {
  readonly id: string;
  readonly wanted: Wanted;
  readonly starts: Starts;
  /** Does it, and posts what comes of it. Never throws. */
  run(actor: ExtensionActor, effect: Effect): void;
  /** What those are told who wait in vain. */
  unavailable(actor: ExtensionActor, why: string | null): PithError;
}

interface Waiter {
  resolve(generation: Generation): void;
  reject(error: PithError): void;
}

/** The mailbox of one extension id, and its state, which nothing else writes. Lives as long as the host. */
export class ExtensionActor implements Slot {
  readonly id: string;
  readonly #options: ActorOptions;
  #state: State;
  /** What was last wanted, also when its folder is gone. */
  #written: Wanted;
  readonly #mailbox: LifeEvent[] = [];
  #isWorking = false;
  #waiters: Waiter[] = [];
  #coming: Promise<Generation> | null = null;
  #settled: (() => void)[] = [];
  readonly #notes = new Map<string, string>();

  constructor(options: ActorOptions) {
    this.id = options.id;
    this.#options = options;
    this.#state = initialState(options.starts);
    this.#written = options.wanted;
  }

  get declaration(): Declaration {
    return this.#version.declaration;
  }

  get config(): ExtensionConfig {
    return this.#version.config;
  }

  get written(): Version {
    return this.#written;
  }

  get declared(): Failure | null {
    return isStandingIn(this.#state) ? null : this.#written.declared;
  }

  get current(): Generation | null {
    return this.#state.live;
  }

  get pending(): Promise<Generation> | null {
    return isComing(this.#state) ? this.coming() : null;
  }

  get failure(): Failure | null {
    return this.#state.failure;
  }

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
    this.#tellWaiters();
  }

  /** The version that runs next. Rejects `provider_unavailable` when none comes of what is under way. */
  coming(): Promise<Generation> {
    if (this.#state.live) return Promise.resolve(this.#state.live);
    this.#coming ??= new Promise<Generation>((resolve, reject) => this.#waiters.push({ resolve, reject }));
    this.#coming.catch(() => undefined); // whoever only asks whether one is coming waits for none
    return this.#coming;
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
      else this.#options.run(this, effect);
  }

  #tellWaiters(): void {
    const { live, job, refused } = this.#state;
    if (live !== null || job === null) {
      const waiters = this.#waiters;
      this.#waiters = [];
      this.#coming = null;
      for (const { resolve, reject } of waiters)
        if (live) resolve(live);
        else reject(this.#options.unavailable(this, refused));
    }
    if (job !== null) return;
    const settled = this.#settled;
    this.#settled = [];
    for (const resolve of settled) resolve();
  }
}

const MOST_NOTES = 50;
const LONGEST_NOTE = 2000;
