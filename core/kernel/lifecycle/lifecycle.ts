import { lacksRoom } from '@pith/safe-files';
import { didYouMean } from '@pith/plain-text';
import { setMaxListeners } from 'node:events';
import { untilAborted, within } from '@pith/promises';
import { canRun, type ExtensionState, blockerOf, ExtensionActor, type Slot, slotKey, stateOf } from './actor.ts';
import { messageOf, PithError } from '../../contract/index.ts';
import type { Declaration, Failure } from '../../declarations/index.ts';
import { Problem, problemOf } from '../records/failures.ts';
import type { Phase } from '../records/error-codes.ts';
import type { SurfaceDescriptor } from '../calls/surface.ts';
import type { Wire } from '../calls/invoke.ts';
import { runOutside } from '../records/stray-errors.ts';
import { LONGEST_RESTART_DELAY_MS } from './services.ts';
import { close, type Generation, type Version } from '../calls/generation.ts';
import type { Effect, LifeEvent, Starts, Wanted } from './state.ts';
import type { KernelRuntime } from './runtime.ts';
import type { Tiers } from './tiers.ts';

/** Where descriptors survive a restart. A key covers sources, configuration and which secrets are set. */
export interface SurfaceIndex {
  surface(extensionId: string, key: string): unknown;
  putSurface(extensionId: string, key: string, data: unknown): void;
}

interface LifecycleOptions {
  readonly index: SurfaceIndex;
  /** Aborted while Pith ends: nothing that begins an extension is waited for any more. */
  readonly cut: AbortController;
  /** Aborted when nothing is waited for any more: what still runs is left behind, and its processes are ended. */
  readonly left: AbortController;
  /** Told of every extension whose state changed. */
  changed(extensionId: string): void;
}

/** Brings extensions to life when they are needed, and to rest: runs the effects of their actors. */
export class Lifecycle {
  readonly #declared = new Map<string, ExtensionActor>();
  /** Every extension that is declared now. */
  readonly slots: ReadonlyMap<string, Slot> = this.#declared;
  readonly #actors = new Map<string, ExtensionActor>();
  readonly #endings: (() => Promise<void>)[] = [];
  readonly #end = new AbortController();
  #starts: Starts = 'nothing';
  #constructing = 0;
  /** Those that wait until fewer are constructed. */
  readonly #queue: (() => void)[] = [];

  /** `wire`: how arguments and results travel between the kernel and extensions. */
  constructor(
    readonly runtime: KernelRuntime,
    readonly tiers: Tiers,
    readonly wire: Wire,
    private readonly options: LifecycleOptions,
  ) {
    setMaxListeners(0, options.cut.signal, options.left.signal); // as many as there are
  }

  get stopped(): boolean {
    return this.#end.signal.aborted;
  }

  /** Throws `not_found`. */
  slotOf(extensionId: string): Slot {
    const slot = this.slots.get(extensionId);
    if (slot) return slot;
    const message = `no extension '${extensionId}': nothing declares it${didYouMean(extensionId, [...this.slots.keys()].sort())}`;
    throw new PithError('not_found', message, { cure: 'see: pith extensions list' });
  }

  stateOf(slot: Slot): ExtensionState {
    return stateOf(this.slots, slot);
  }

  /** The hard dependency that keeps an extension from running. */
  blocker(slot: Slot): Slot | undefined {
    return blockerOf(this.slots, slot);
  }

  /** Why it cannot run, as the end of a sentence; undefined when it can. */
  reason(slot: Slot): string | undefined {
    const state = this.stateOf(slot);
    if (canRun(state)) return undefined;
    if (state === 'disabled') return 'it is switched off';
    const failure = slot.failure ?? slot.declared;
    if (failure) return failure.message;
    const blocker = this.blocker(slot);
    return blocker ? `it needs '${blocker.id}', which cannot run: ${this.reason(blocker) ?? 'it failed'}` : 'it failed';
  }

  /** An extension was found or has changed. What runs of it is replaced where that is needed; see `settled`. */
  declare(wanted: Wanted): Slot {
    const { id } = wanted.declaration;
    const actor = this.#actors.get(id) ?? this.#create(id, wanted);
    this.#declared.set(id, actor);
    actor.post({ type: 'declared', wanted });
    return actor;
  }

  /** Its folder is gone: what runs of it is stopped. */
  withdraw(extensionId: string): void {
    this.#declared.delete(extensionId);
    this.post(extensionId, { type: 'gone' });
  }

  /** Reloads an extension although nothing changed; what failed gets another chance. */
  async reloadByHand(wanted: Wanted): Promise<void> {
    const { id } = wanted.declaration;
    this.post(id, { type: 'reload by hand', wanted });
    await this.settled(id);
    await this.wakeServices(); // of what needs it
  }

  post(extensionId: string, event: LifeEvent): void {
    this.#actors.get(extensionId)?.post(event);
  }

  /** When nothing is under way for that id. */
  async settled(extensionId: string): Promise<void> {
    await this.#actors.get(extensionId)?.settled();
  }

  note(extensionId: string, message: string, code: string): void {
    this.#actors.get(extensionId)?.note(message, code);
  }

  /** The version that runs, loading it when needed. Rejects `provider_unavailable` with the reason. */
  async ready({ id }: Pick<Slot, 'id'>): Promise<Generation> {
    const actor = this.#declared.get(id);
    if (!actor) throw unavailable(id, 'nothing declares it');
    if (actor.current) return actor.current;
    if (actor.pending) return actor.pending;
    const why = this.stopped ? STOPPING : this.reason(actor);
    if (why !== undefined) throw unavailable(id, why);
    const next = actor.nextVersion();
    actor.post({ type: 'asked' });
    return next;
  }

  /** `used`: what is activated is started, and no service runs. */
  async startServices(which: 'used' | 'all'): Promise<void> {
    this.#starts = which;
    const running = [...this.#actors.values()].filter(({ current }) => current !== null);
    for (const actor of this.#actors.values()) actor.post({ type: 'start', starts: which });
    await Promise.all([...running.map((actor) => actor.settled()), this.wakeServices()]);
  }

  /**
   * Brings services to life that can run now and do not: new ones, corrected ones, and those whose dependencies are back; with them what was
   * `edited`, so that whoever broke it hears of it. Never rejects.
   */
  async wakeServices(edited: ReadonlySet<string> = new Set()): Promise<void> {
    if (this.#starts !== 'all' || this.stopped) return;
    const asleep = [...this.slots.values()].filter(
      (slot) =>
        !slot.current && (edited.has(slot.id) || slot.declaration.manifest?.provides.includes('service')) && canRun(this.stateOf(slot)),
    );
    await Promise.all(asleep.map((slot) => this.ready(slot).catch(recorded)));
  }

  /** What an extension offers, from the version that runs, else from the index; undefined when neither knows. */
  descriptorOf(slot: Slot): SurfaceDescriptor | undefined {
    return (
      slot.current?.surface.descriptor ??
      (this.options.index.surface(slot.id, slotKey(slot, this.runtime.secrets)) as SurfaceDescriptor | undefined)
    );
  }

  /** Awaited when Pith ends, for what runs beside the extensions: processes of command entries. */
  onEnd(end: () => Promise<void>): void {
    this.#endings.push(end);
  }

  /** A running version offers other tools now. */
  replaceTools(generation: Generation, tools: Pick<SurfaceDescriptor, 'tools' | 'warnings'>): void {
    generation.surface = { ...generation.surface, descriptor: { ...generation.surface.descriptor, ...tools } };
    this.#remember(generation);
    this.options.changed(generation.declaration.id);
  }

  /** Keeps what the extension offers, so that the next start need not load it. */
  #remember({ declaration, config, surface }: Generation): void {
    const { id } = declaration;
    // Only loading a dynamic one says what is wrong with it.
    if (declaration.dynamic && (this.#actors.get(id)?.notes.size ?? 0) > 0) return;
    const key = slotKey({ declaration, config }, this.runtime.secrets);
    if (JSON.stringify(this.options.index.surface(id, key)) !== JSON.stringify(surface.descriptor))
      this.options.index.putSurface(id, key, surface.descriptor);
  }

  /** A contract becomes part of the code that imports it: nothing of a stranger runs in the kernel by that way. Throws a `Problem`. */
  refuseForeignContracts(declaration: Declaration): void {
    const { rights } = this.runtime;
    const { id, file, shipped, imports } = declaration;
    if (shipped || rights.tierOf(declaration) !== 'in_process') return; // what ships takes the contracts that ship
    // One without code of its own is no extension that runs, but may be let in all the same.
    const isForeign = (each: string): boolean =>
      rights.isForeign(this.slots.get(each)?.declaration ?? { ...declaration, id: each, manifest: null });
    const owner = Object.keys(imports?.contracts ?? {}).find(isForeign);
    if (owner === undefined) return;
    throw new Problem('import', 'import_forbidden', `'${id}' runs inside Pith, and the contract of '${owner}' would run there with it`, {
      file,
      cure: `write extensions.${id}.isolation: process, or let '${owner}' in, too: extensions.${owner}.isolation: in_process`,
    });
  }

  /** Stops every extension after its dependents, side by side where they do not depend on each other, until `late` aborts. Never rejects. */
  async stopAll(late?: AbortSignal): Promise<void> {
    this.#end.abort();
    for (const actor of this.#actors.values()) actor.post({ type: 'ending' });
    const stopping = new Map<ExtensionActor, Promise<void>>();
    const stop = (actor: ExtensionActor): Promise<void> => {
      const known = stopping.get(actor);
      if (known) return known;
      const dependents = [...this.#actors.values()].filter((other) => other.declaration.manifest?.depends_on.includes(actor.id));
      stopping.set(actor, Promise.resolve()); // of a cycle nothing runs
      const done = Promise.all(dependents.map(stop)).then(() => {
        actor.post({ type: 'stop', graceMs: GRACE_MS });
        return actor.settled();
      });
      stopping.set(actor, done);
      return done;
    };
    const all = Promise.all([...[...this.#actors.values()].map(stop), ...this.#endings.map((end) => end())]);
    const cancel = this.runtime.clock.after(BEGUN_MS, () => this.options.cut.abort());
    const ended = within(this.runtime.clock, LIMIT_MS, all);
    await (late === undefined ? ended : untilAborted(ended, late).catch(() => undefined)); // it is left behind
    cancel();
    this.options.cut.abort();
    this.options.left.abort();
  }

  #create(id: string, wanted: Wanted): ExtensionActor {
    const actor = new ExtensionActor({
      id,
      wanted,
      starts: this.#starts,
      run: (own, effect) => {
        try {
          this.#run(own, effect);
        } catch (error) {
          this.runtime
            .logger('host')
            .error('an effect of an extension failed', { extensionId: id, effect: effect.type, reason: messageOf(error) });
        }
      },
      unavailable: (own, refused) => unavailable(id, this.stopped ? STOPPING : (this.reason(own) ?? refused ?? 'it was stopped')),
    });
    this.#actors.set(id, actor);
    return actor;
  }

  #run(actor: ExtensionActor, effect: Effect): void {
    const { runtime } = this;
    const { id } = actor;
    const { events } = runtime.services;
    switch (effect.type) {
      case 'wait':
        this.#report(
          actor,
          async () => ({ type: 'waited', token: effect.token, refused: await this.#wait(actor, effect.version, effect.until) }),
          (error) => ({ type: 'waited', token: effect.token, refused: messageOf(error) }),
        );
        return;
      case 'construct':
        this.#try(actor, effect.number, 'initialize', async () => {
          const { from, number } = effect;
          const candidate = await this.#inTurn(() => {
            this.options.cut.signal.throwIfAborted();
            this.refuseForeignContracts(from.declaration);
            return 'again' in from ? from.again(number) : this.tiers.construct(from, number);
          });
          if (this.options.cut.signal.aborted) await candidate.discard();
          return { type: 'constructed', number, candidate };
        });
        return;
      case 'initialize':
        this.#try(actor, effect.number, 'initialize', async () => {
          const { candidate, number, starts } = effect;
          const { signal } = this.options.cut;
          const discard = (): void => void candidate.discard(); // ends a process at once
          if (signal.aborted) discard();
          signal.throwIfAborted();
          signal.addEventListener('abort', discard, { once: true });
          try {
            const generation = await candidate.initialize();
            try {
              signal.throwIfAborted();
              await start(generation, starts);
              signal.throwIfAborted();
            } catch (error) {
              await close(generation, 0);
              throw error;
            }
            return { type: 'initialized', number, generation };
          } finally {
            signal.removeEventListener('abort', discard);
          }
        });
        return;
      case 'start':
        this.#try(actor, effect.number, 'start', async () => {
          await start(effect.generation, effect.starts);
          return { type: 'started', number: effect.number };
        });
        return;
      case 'close':
        this.#ended(actor, { type: 'closed', number: effect.number }, () => close(effect.generation, effect.graceMs));
        return;
      case 'discard':
        this.#ended(actor, { type: 'discarded', number: effect.number }, () => effect.candidate.discard());
        return;
      case 'try later':
        runtime.clock.after(effect.afterMs, () => actor.post({ type: 'room', attempt: effect.attempt }));
        return;
      case 'record':
        runtime.failures.keep(effect.failure);
        return;
      case 'forget failures':
        runtime.failures.clear(id);
        return;
      case 'publish':
        if (effect.topic === 'extension.stopped') events.publish(effect.topic, { extensionId: id });
        else events.publish(effect.topic, { extensionId: id, generation: effect.number });
        return;
      case 'remember':
        this.#remember(effect.generation);
        return;
      case 'wake services':
        void this.wakeServices();
        return;
      case 'changed':
        this.options.changed(id);
    }
  }

  /** Runs what may fail in the extension's name, and posts what comes of it. Once cut, nothing waits for the work: it ends what it makes. */
  #try(actor: ExtensionActor, number: number, phase: Phase, work: () => Promise<LifeEvent>): void {
    const unlessCut = () => untilAborted(work(), this.options.cut.signal);
    this.#report(actor, unlessCut, (error) => {
      const failure = this.#failureOf(actor.id, error, phase);
      return { type: 'failed', number, failure, lacksRoom: lacksRoom(error) };
    });
  }

  /** Ends a version. However that goes, it has ended. */
  #ended(actor: ExtensionActor, event: LifeEvent, work: () => Promise<void>): void {
    const done = async () => (await work(), event);
    this.#report(actor, done, (error) => {
      this.runtime.logger('host').error('an extension did not end well', { extensionId: actor.id, reason: messageOf(error) });
      return event;
    });
  }

  /** Does something for an actor, and posts how it ended: an actor that heard nothing would wait for ever. */
  #report(actor: ExtensionActor, work: () => Promise<LifeEvent>, otherwise: (error: unknown) => LifeEvent): void {
    void runOutside(work)
      .catch(otherwise)
      .then((event) => actor.post(event));
  }

  /** A few at once: the limit of each counts from when it begins, and two hundred side by side would all be late. */
  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.#constructing >= MOST_CONSTRUCTING) await new Promise<void>((resolve) => this.#queue.push(resolve));
    else this.#constructing += 1;
    try {
      return await work();
    } finally {
      const next = this.#queue.shift();
      if (next) next();
      else this.#constructing -= 1;
    }
  }

  #failureOf(extensionId: string, error: unknown, phase: Phase): Failure {
    const problem = problemOf(error, phase, phase === 'start' ? 'start_failed' : 'initialize_failed');
    const failure = this.runtime.failures.describe(extensionId, problem);
    const { declaration } = this.slots.get(extensionId) ?? {};
    if (declaration?.shipped !== true || !this.runtime.loader.isAltered(declaration)) return failure;
    const cure = `if you did not change it, install Pith again; else ${failure.cure ?? 'correct the source'}`;
    return { ...failure, message: `${failure.message} (its files are not those that Pith was built with)`, cure };
  }

  /** Until its dependencies run and its time has come. Why it may not begin, as the end of a sentence; null: it may. Never rejects. */
  async #wait(actor: ExtensionActor, { declaration }: Version, until: number): Promise<string | null> {
    await Promise.resolve(); // what changed with it is declared by then
    const { clock } = this.runtime;
    const wanted = declaration.manifest?.depends_on ?? [];
    const missing = wanted.some((id) => !this.slots.has(id)) ? actor.declared?.message : undefined;
    if (missing !== undefined) return missing;
    const results = await Promise.allSettled(wanted.flatMap((id) => this.#declared.get(id) ?? []).map((slot) => this.ready(slot)));
    const failed = results.find((result) => result.status === 'rejected');
    if (failed) return messageOf(failed.reason);
    const ms = Math.min(until - clock.now(), LONGEST_RESTART_DELAY_MS); // the clock may have been set back
    if (ms > 0) await clock.sleep(ms, this.#end.signal).catch(recorded); // only the end of Pith ends the wait
    return this.stopped ? STOPPING : null;
  }
}

const MOST_CONSTRUCTING = 16;
const GRACE_MS = 1000;
/** For what an extension is doing to begin, once Pith ends. */
const BEGUN_MS = 300;
/** The whole process has ten seconds to end. */
const LIMIT_MS = 8000;
const STOPPING = 'Pith is stopping';

async function start(generation: Generation, starts: Starts): Promise<void> {
  if (starts !== 'nothing') await generation.start(starts === 'all');
}

export function unavailable(extensionId: string, why: string, cause?: unknown): PithError {
  return new PithError('provider_unavailable', `'${extensionId}' cannot be used: ${why}`, { cause, cure: 'see: pith doctor' });
}

/** For rejections that the failures have already. */
export function recorded(): void {
  return undefined;
}
