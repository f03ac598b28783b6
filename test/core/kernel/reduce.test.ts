import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TopicMap } from '../../../core/contract/index.ts';
import {
  initialState,
  usesFallback,
  reduce,
  type Candidate,
  type Effect,
  type Generation,
  type LifeEvent,
  type State,
  type Wanted,
} from '../../../core/kernel/index.ts';

type Pending = Extract<Effect, { type: 'wait' | 'construct' | 'initialize' | 'start' | 'close' | 'discard' }>;
type Written = 'sound' | 'broken' | 'made up' | 'blocked' | 'disabled' | 'narrowed' | 'broken and narrowed';
type Outcome = 'well' | 'failed' | 'without room';

/** What happens next: something from outside, or the oldest or newest effect that is under way ends so. */
type Step =
  | { readonly do: 'write'; readonly digest: number; readonly as: Written; readonly byHand: boolean }
  | { readonly do: 'remove' | 'call' | 'crash' | 'say late' | 'idle' | 'room' | 'pass five minutes' | 'stop' | 'end' }
  | { readonly do: 'die'; readonly needed: boolean }
  | { readonly do: 'start services'; readonly which: 'used' | 'all' }
  | { readonly do: 'finish'; readonly oldest: boolean; readonly how: Outcome };

/** Runs effects as a host would, but is told when and how each ends; one that is not told of hangs until the dust settles. */
class World {
  state: State = initialState('nothing');
  now = 1_000_000;
  isStopped = false;
  readonly pending: Pending[] = [];
  /** Numbers of versions that were constructed, and of those that may act, from their initialisation until they are closed. */
  readonly candidates = new Set<number>();
  readonly living = new Set<number>();
  readonly made = new Set<number>();
  readonly ended = new Set<number>();
  /** What was last valid, since it came and was switched on. */
  sound: Wanted | null = null;
  /** Since the last write. */
  recorded: TopicMap['extension.failed'][] = [];

  step(step: Step): void {
    const { live } = this.state;
    switch (step.do) {
      case 'write':
        return this.#write(wanted(step.digest, step.as), step.byHand);
      case 'remove':
        this.sound = null;
        return this.post({ type: 'gone' });
      case 'call':
        return this.post({ type: 'asked' });
      case 'start services':
        return this.post({ type: 'start', starts: step.which });
      case 'room':
        return this.post({ type: 'room', attempt: this.state.withoutRoom });
      case 'crash':
        return this.post({ type: 'crashed', failure: this.#failure('crashed') });
      case 'pass five minutes':
        return void (this.now += 300_000);
      case 'idle':
        return live ? this.post({ type: 'idle', number: live.number }) : undefined;
      case 'die':
        return this.#die(step.needed);
      case 'say late': // that a version which has ended is gone
        for (const number of this.ended) this.post({ type: 'lost', number, failure: this.#failure('lost'), needed: true });
        return;
      case 'end':
        return this.post({ type: 'ending' });
      case 'stop':
        this.isStopped = true;
        return this.post({ type: 'stop', graceMs: 1000 });
      case 'finish': {
        const effect = step.oldest ? this.pending.shift() : this.pending.pop();
        if (effect) this.#finish(effect, step.how);
      }
    }
  }

  post(event: LifeEvent): void {
    const [state, effects] = reduce(this.state, event);
    this.state = state;
    for (const effect of effects) this.#begin(effect);
    if (this.living.size > 1) throw new Error(`${this.living.size} generations live`);
    if (state.live && !this.living.has(state.live.number)) throw new Error('what is called does not live');
  }

  #write(now: Wanted, byHand: boolean): void {
    this.recorded = [];
    if (!now.config.enabled) this.sound = null;
    else if (now.declared === null) this.sound = now;
    this.post({ type: byHand && this.state.wanted ? 'reload by hand' : 'declared', wanted: now });
  }

  /** What is under way ends so, and what begins then. */
  settle(how: Outcome): void {
    for (let rounds = 0; this.pending.length > 0; rounds += 1) {
      if (rounds > 1000) throw new Error('the dust does not settle');
      const effect = this.pending.shift();
      if (effect) this.#finish(effect, effect.type === 'wait' ? 'well' : how);
    }
  }

  #begin(effect: Effect): void {
    if (effect.type === 'construct' && !('number' in effect.from) && codeOf(effect.from) !== codeOf(this.state.wanted))
      throw new Error('other code is loaded than the one that was declared');
    if (effect.type === 'record') this.recorded.push(effect.failure);
    if (effect.type === 'initialize') {
      if (!this.candidates.delete(effect.number)) throw new Error('what is initialised was not constructed');
      this.living.add(effect.number);
    }
    if (effect.type === 'close' && !this.living.has(effect.generation.number)) throw new Error('what is closed does not live');
    if (effect.type === 'discard' && !this.candidates.has(effect.number)) throw new Error('what is discarded was not constructed');
    if (isPending(effect)) this.pending.push(effect);
  }

  #finish(effect: Pending, how: Outcome): void {
    if (effect.type === 'wait')
      return this.post({ type: 'waited', token: effect.token, refused: how === 'well' ? null : 'a dependency failed' });
    const { number } = effect;
    if (effect.type === 'close' || effect.type === 'discard') {
      this.#end(effect.type === 'close' ? effect.generation.number : number);
      return this.post({ type: effect.type === 'close' ? 'closed' : 'discarded', number });
    }
    const isDead = effect.type !== 'construct' && !this.living.has(number);
    if (how !== 'well' || isDead) {
      if (effect.type === 'initialize') this.#end(number);
      return this.post({ type: 'failed', number, failure: this.#failure('failed'), lacksRoom: how === 'without room' });
    }
    if (effect.type === 'construct') {
      this.candidates.add(number);
      this.made.add(number);
      const { declaration } = effect.from;
      return this.post({ type: 'constructed', number, candidate: { number, declaration } as Candidate });
    }
    if (effect.type === 'initialize')
      return this.post({ type: 'initialized', number, generation: effect.candidate as unknown as Generation });
    this.post({ type: 'started', number });
  }

  /** Its process ends by itself, also while it is initialised; whatever happens while it is closed is its end anyway. */
  #die(needed: boolean): void {
    const [number] = this.living;
    if (number === undefined || this.pending.some(({ type }) => type === 'close')) return;
    this.#end(number);
    this.post({ type: 'lost', number, failure: this.#failure('lost'), needed });
  }

  #end(number: number): void {
    this.living.delete(number);
    this.candidates.delete(number);
    this.ended.add(number);
  }

  #failure(code: string): TopicMap['extension.failed'] {
    return { extensionId: 'it', phase: 'initialize', code, message: code, at: (this.now += 1) };
  }
}

function isPending(effect: Effect): effect is Pending {
  return ['wait', 'construct', 'initialize', 'start', 'close', 'discard'].includes(effect.type);
}

function wanted(digest: number, as: Written): Wanted {
  const code = CODES[as];
  const declared = code === undefined ? null : { extensionId: 'it', phase: 'validate', code, message: as, at: 0 };
  const permissions = { network: as === 'sound', read: [], write: [], agents: [] };
  const manifest = { permissions, provides: [], secrets: [], events: { handles: [] }, depends_on: as === 'made up' ? ['nope'] : [] };
  const withheld = as.endsWith('narrowed') ? [{ ask: 'network', never: null }] : [];
  return {
    declaration: { id: 'it', manifest, withheld, codeDigest: `${digest}` },
    config: { enabled: as !== 'disabled' },
    declared,
    key: `${digest} ${as}`,
  } as unknown as Wanted;
}

const CODES: Partial<Record<Written, string>> = {
  broken: 'manifest_invalid',
  'broken and narrowed': 'manifest_invalid',
  'made up': 'dependency_missing',
  blocked: 'dependency_failed',
};

function codeOf(version: Wanted | Generation | null): string | undefined {
  return version?.declaration.codeDigest;
}

const SIMPLE = (...names: readonly string[]) => fc.record({ do: fc.constantFrom(...names) });

const STEP = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('write'),
      digest: fc.integer({ min: 1, max: 3 }),
      as: fc.constantFrom('sound', 'sound', 'sound', 'broken', 'made up', 'blocked', 'disabled', 'narrowed', 'broken and narrowed'),
      byHand: fc.boolean(),
    }),
  },
  { weight: 6, arbitrary: SIMPLE('call') },
  { weight: 4, arbitrary: SIMPLE('remove', 'crash', 'say late', 'idle', 'room', 'pass five minutes') },
  { weight: 1, arbitrary: SIMPLE('stop', 'end') },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('die'), needed: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('start services'), which: fc.constantFrom('used', 'all') }) },
  {
    weight: 16,
    arbitrary: fc.record({
      do: fc.constant('finish'),
      oldest: fc.boolean(),
      how: fc.constantFrom('well', 'well', 'well', 'well', 'failed', 'without room'),
    }),
  },
) as unknown as fc.Arbitrary<Step>;

describe('the life of an extension', () => {
  it('K21 an edit for which there was no room is loaded when there is room, although the former version runs meanwhile', () => {
    const world = new World();
    const steps: readonly Step[] = [{ do: 'write', digest: 1, as: 'sound', byHand: false }, { do: 'call' }];
    for (const step of steps) world.step(step);
    world.settle('well');
    world.step({ do: 'idle' });
    world.settle('well');
    world.step({ do: 'write', digest: 2, as: 'sound', byHand: false });
    world.step({ do: 'call' });
    world.step({ do: 'finish', oldest: true, how: 'well' });
    world.step({ do: 'finish', oldest: true, how: 'without room' });
    const attempt = world.state.withoutRoom;
    world.settle('well');
    expect(usesFallback(world.state)).toBe(true);
    world.post({ type: 'room', attempt });
    world.settle('well');
    expect(usesFallback(world.state)).toBe(false);
    expect(world.state.live?.number).toBe(Math.max(...world.made));
  });

  it('B1 B11: in 20,000 random interleavings at most one generation lives, each that was made ends, and what was declared last runs or its failure is recorded', () => {
    fc.assert(
      fc.property(
        fc.array(STEP, { minLength: 5, maxLength: 60, size: 'max' }),
        fc.constantFrom<Outcome>('well', 'failed'),
        (steps, end) => {
          const world = new World();
          for (const step of steps) world.step(step);
          world.settle(end);
          if (!world.state.ending) world.post({ type: 'asked' });
          world.settle(end);
          const fault = world.state.ending ? null : faultOf(world);
          expect(fault).toBe(null);
          world.step({ do: 'stop' });
          world.settle(end);
          world.post({ type: 'asked' });
          const { living, candidates, pending, made, ended, state } = world;
          expect([living.size, candidates.size, pending.length, state.job, state.live]).toEqual([0, 0, 0, null, null]);
          expect([...made].filter((number) => !ended.has(number))).toEqual([]);
        },
      ),
      { numRuns: 20_000 },
    );
  });
});

/** What is wrong once nothing is under way and somebody has asked; null: nothing. */
function faultOf({ state, living, recorded, sound }: World): string | null {
  const { wanted: now, live, good, failure, job } = state;
  if (job !== null) return 'something is under way';
  if (now === null || !now.config.enabled) return living.size === 0 ? null : 'what is gone or switched off lives';
  const isKept = sound !== null && codeOf(sound) === codeOf(now) && !now.declaration.withheld?.length;
  const mustRun = now.declared === null || (isKept && now.declared.code !== 'dependency_failed');
  if (live === null) return failure === null && mustRun ? 'nothing runs, and no failure says why' : null;
  if (good?.key === now.key) return null;
  if (now.declaration.withheld?.length && live.declaration.manifest?.permissions.network) return 'what was taken away is still held';
  if (!usesFallback(state)) return 'another version runs than the one that was declared last';
  return recorded.some(({ phase }) => phase === 'reload') ? null : 'nothing says that the former version stands in';
}
