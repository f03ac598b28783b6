import { canRun, type ExtensionState } from '../../agents/ports.ts';
import { messageOf, PithError } from '../../contract/errors.ts';
import type { Failure } from '../../contract/index.ts';
import { isBreakerOpen, LONGEST_RESTART_DELAY_MS, restartDelay, withCrash } from './breaker.ts';
import { close, type Generation } from './generation.ts';
import type { HostParts } from '../host-parts.ts';
import { lacksRoom } from '../process/start-process.ts';
import { Problem, problemOf } from '../problem.ts';
import { slotKey, type Slot } from './slot.ts';
import { blockerOf, stateOf } from './slot-state.ts';
import { construct } from './tier.ts';
import { runOutside } from '../stray-errors.ts';
import { TOOLSET_INVALID } from '../toolsets/toolset-id.ts';

/** Brings extensions to life when they are needed, and to rest. */
export class Lifecycle {
  readonly parts: HostParts;
  readonly slots: ReadonlyMap<string, Slot>;
  /** Told of every extension whose state changed. */
  readonly changed: (extensionId: string) => void;
  /** `used`: what is activated is started, and no service runs. */
  starts: 'nothing' | 'used' | 'all' = 'nothing';
  /** Ends what was begun beside the slots: processes of command entries. */
  readonly endings: (() => Promise<void>)[] = [];
  readonly #end = new AbortController();

  constructor(parts: HostParts, slots: ReadonlyMap<string, Slot>, changed: (extensionId: string) => void) {
    this.parts = parts;
    this.slots = slots;
    this.changed = changed;
  }

  get stopped(): boolean {
    return this.#end.signal.aborted;
  }

  /** From now on nothing is started, and nothing waits to be started again. */
  end(): void {
    this.#end.abort();
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
    const failure = slot.declared ?? slot.failure;
    if (failure) return failure.message;
    const blocker = this.blocker(slot);
    return blocker ? `it needs '${blocker.id}', which cannot run: ${this.reason(blocker) ?? 'it failed'}` : 'it failed';
  }

  /** The version that runs, loading it when needed. Rejects `provider_unavailable` with the reason. */
  async ready(slot: Slot): Promise<Generation> {
    if (slot.current) return slot.current;
    slot.pending ??= runOutside(() => this.#activate(slot)).finally(() => (slot.pending = null));
    return slot.pending;
  }

  async startServices(which: 'used' | 'all'): Promise<void> {
    this.starts = which;
    const running = [...this.slots.values()].map((slot) => slot.current && this.startOrFail(slot, slot.current));
    await Promise.all([...running, this.wakeServices()]);
  }

  /** Brings services to life that can run now and do not: new ones, mended ones, and those whose dependencies are back. Never rejects. */
  async wakeServices(): Promise<void> {
    if (this.starts !== 'all' || this.stopped) return;
    const asleep = [...this.slots.values()].filter(
      (slot) => !slot.current && slot.declaration.manifest?.provides.includes('service') && canRun(this.stateOf(slot)),
    );
    await Promise.all(asleep.map((slot) => this.ready(slot).catch(recorded)));
  }

  /** Starts it when that is wanted; a version that cannot start is closed. Rejects with the `Problem`. */
  async startOrFail(slot: Slot, generation: Generation): Promise<void> {
    if (this.starts === 'nothing') return;
    try {
      await generation.start(this.starts === 'all');
    } catch (error) {
      if (slot.current === generation) await this.rest(slot, problemOf(error, 'start', 'start_failed'));
      else throw error;
    }
  }

  /** Records why it could not be loaded. It stays failed until it changes; where the system only had no room for it, it is tried again, later each time. */
  failed(slot: Slot, problem: Problem): Failure {
    const failure = this.parts.failures.record(slot.id, problem);
    slot.failure = failure;
    if (lacksRoom(problem)) {
      this.parts.clock.after(restartDelay(slot.withoutRoom++), () => {
        if (slot.failure !== failure || this.stopped) return;
        slot.failure = null;
        this.changed(slot.id);
        void this.wakeServices();
      });
    }
    return failure;
  }

  /** Records a crash; the third in five minutes stops the extension. */
  crashed(slot: Slot, problem: Problem): void {
    this.parts.failures.record(slot.id, problem);
    slot.crashes = withCrash(slot.crashes, this.parts.clock.now());
    if (!isBreakerOpen(slot.crashes) || !slot.current) return;
    void this.rest(slot, breakerProblem(slot, problem));
  }

  /** A version is gone by itself. The next call starts another, later each time; the third crash in five minutes stops the extension. */
  lost(slot: Slot, generation: Generation, why: Problem, needed: boolean): void {
    const { clock } = this.parts;
    if (slot.current !== generation) return void this.parts.failures.record(slot.id, why);
    slot.current = null;
    slot.notBefore = clock.now() + (slot.crashes.length === 0 ? 0 : restartDelay(slot.crashes.length - 1));
    this.crashed(slot, why);
    if (isBreakerOpen(slot.crashes)) slot.failure = this.parts.failures.record(slot.id, breakerProblem(slot, why));
    else if (needed && !this.stopped) void this.ready(slot).catch(recorded);
    this.parts.options.events.publish('extension.stopped', { extensionId: slot.id });
    this.changed(slot.id);
  }

  /** Takes a version out of service, for the reason given or for none, and closes it. Never rejects. */
  async rest(slot: Slot, why: Problem | null, graceMs = 0): Promise<void> {
    const generation = slot.current;
    slot.current = null;
    if (why) slot.failure = this.parts.failures.record(slot.id, why);
    if (generation) {
      await runOutside(() => close(generation, graceMs));
      this.parts.options.events.publish('extension.stopped', { extensionId: slot.id });
    }
    this.changed(slot.id);
  }

  /** Takes the settings as they stand in the files now. */
  async renewConfig(slot: Slot): Promise<void> {
    const { options, secrets } = this.parts;
    await options.renewSettings?.();
    slot.config = options.configOf(slot.declaration);
    secrets.declare(slot.config.secrets);
  }

  /** Keeps what the extension offers, so that the next start need not load it. */
  remember(slot: Slot, generation: Generation): void {
    const { index } = this.parts.options;
    // What is wrong with one is told each time that it is loaded, and only then.
    if ([...slot.notes.values()].includes(TOOLSET_INVALID)) return;
    const key = slotKey({ declaration: generation.declaration, config: slot.config });
    const known = index.surface(slot.id, key);
    if (JSON.stringify(known) !== JSON.stringify(generation.surface.descriptor))
      index.putSurface(slot.id, key, generation.surface.descriptor);
  }

  async #activate(slot: Slot): Promise<Generation> {
    const why = this.stopped ? 'Pith is stopping' : this.reason(slot);
    if (why !== undefined) throw unavailable(slot.id, why);
    await this.#activateDependencies(slot);
    const wait = Math.min(slot.notBefore - this.parts.clock.now(), LONGEST_RESTART_DELAY_MS); // the clock may have been set back
    if (wait > 0) await this.parts.clock.sleep(wait, this.#end.signal).catch(recorded); // only the end of Pith ends the wait
    if (this.stopped) throw unavailable(slot.id, 'Pith is stopping');
    let generation: Generation;
    try {
      generation = await (await construct(this.parts, slot.declaration, ++slot.generations)).initialize();
      await this.startOrFail(slot, generation).catch(async (error: unknown) => {
        await close(generation, 0);
        throw error;
      });
    } catch (error) {
      const { message } = this.failed(slot, problemOf(error, 'initialize', 'initialize_failed'));
      this.changed(slot.id);
      throw unavailable(slot.id, message, error);
    }
    if (this.stopped) {
      await close(generation, 0);
      throw unavailable(slot.id, 'Pith is stopping');
    }
    slot.current = generation;
    slot.withoutRoom = 0;
    this.remember(slot, generation);
    this.parts.options.events.publish('extension.activated', { extensionId: slot.id, generation: generation.number });
    this.changed(slot.id);
    return generation;
  }

  async #activateDependencies(slot: Slot): Promise<void> {
    const wanted = (slot.declaration.manifest?.depends_on ?? []).flatMap((id) => this.slots.get(id) ?? []);
    const results = await Promise.allSettled(wanted.map((dependency) => this.ready(dependency)));
    const failed = results.find((result) => result.status === 'rejected');
    if (failed) throw unavailable(slot.id, messageOf(failed.reason), failed.reason);
  }
}

function breakerProblem({ id, crashes }: Slot, last: Problem): Problem {
  return new Problem('background', 'breaker_open', `stopped after ${crashes.length} crashes in five minutes, the last: ${last.message}`, {
    cause: last.cause,
    cure: `correct it, or run: pith extensions reload ${id}`,
  });
}

export function unavailable(extensionId: string, why: string, cause?: unknown): PithError {
  return new PithError('provider_unavailable', `'${extensionId}' cannot be used: ${why}`, { cause, cure: 'see: pith doctor' });
}

/** For rejections that the failures have already. */
export function recorded(): void {
  return undefined;
}
