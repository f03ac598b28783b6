import { type Failure, grantedAsks, isBlocked } from '../../declarations/index.ts';
import { isBreakerOpen, restartDelay, withCrash } from './services.ts';
import type { Generation, Version } from '../calls/generation.ts';
import type { Effect, Job, LifeEvent, Next, Source, State, Wanted } from './state.ts';

/** How long a version that is replaced or removed may work on its open calls. */
export const DRAIN_MS = 5000;

/**
 * The whole life of an extension: what an event makes of its state, and what is to be done then. Pure. At most one generation lives, because
 * one job is under way at a time and no version is initialised before the one before it was closed.
 */
export function reduce(state: State, event: LifeEvent): readonly [State, readonly Effect[]] {
  const effects: Effect[] = [];
  const next = settle(applied(state, event, effects), effects);
  const { wanted } = next;
  const isNew = wanted !== state.wanted || !usesFallback(state);
  if (wanted?.declared && isInvalid(next) && isNew && usesFallback(next))
    effects.push({ type: 'record', failure: stillRunning(wanted.declared) });
  return [next, effects];
}

/** The version that counts for what the extension declares: the one that runs or replaces it for now, else the one that is wanted. */
export function versionIn(state: State): Version | null {
  const { live, good, wanted } = state;
  return live ?? (good !== null && usesFallback(state) ? good.version : wanted);
}

/** The wanted version cannot run or failed, and the last good one is there in its place. */
export function usesFallback(state: State): boolean {
  const { wanted, tried } = state;
  return wanted !== null && wanted.config.enabled && mayFallBack(state) && (isInvalid(state) || tried === wanted.key);
}

/**
 * It ran, or its code is still the one that was declared with it; and nobody has taken from it since what it would have again: a right of its
 * manifest, or its place in the kernel.
 */
function mayFallBack({ wanted, good }: State): boolean {
  if (wanted === null || good === null) return false;
  const { version } = good;
  const { declaration } = version;
  const isSameCode = good.key !== wanted.key && declaration.codeDigest === wanted.declaration.codeDigest;
  if (!hasRun(version) && !isSameCode) return false;
  const asks = grantedAsks(declaration);
  const isTaken = (wanted.declaration.withheld ?? []).some(({ ask }) => asks.includes(ask));
  return !isTaken && !(hasRun(version) && version.tier === 'in_process' && wanted.config.isolation === 'process');
}

function hasRun(version: Generation | Wanted): version is Generation {
  return !('declared' in version);
}

/** A version that can be called will come of what is under way. */
export function isPending({ live, job, asked }: State): boolean {
  if (live !== null || job === null) return false;
  if (job.at === 'closing') return job.next !== null || asked;
  return job.at === 'waiting' || job.at === 'constructing' || job.at === 'initializing' || asked;
}

function applied(state: State, event: LifeEvent, effects: Effect[]): State {
  switch (event.type) {
    case 'declared':
      return declared(state, event.wanted, effects);
    case 'reload by hand': {
      const next = declared(state, event.wanted, effects);
      return { ...next, forced: next.live !== null || next.job !== null, asked: next.asked || next.live === null };
    }
    case 'gone':
      effects.push({ type: 'forget failures' });
      return { ...resetFailures(state), wanted: null, good: state.live && state.good, asked: false };
    case 'asked':
      return state.live ? state : { ...state, asked: true };
    case 'start':
      return { ...state, starts: event.starts, startDue: state.live !== null };
    case 'crashed':
      return crashed(state, event.failure, effects);
    case 'lost':
      return lost(state, event, effects);
    case 'idle':
      return state.live?.number === event.number ? { ...state, resting: true } : state;
    case 'room':
      return hasRoom(state, event.attempt, effects);
    case 'ending':
      return { ...cancelled(state), ending: true, asked: false };
    case 'stop':
      return { ...cancelled(state), ending: true, asked: false, stopGraceMs: event.graceMs };
    default:
      return reported(state, event, effects);
  }
}

type Report = Extract<LifeEvent, { type: 'waited' | 'constructed' | 'initialized' | 'started' | 'closed' | 'discarded' | 'failed' }>;

/** What an effect says. One whose job was cancelled meanwhile says nothing to anybody: only waiting can be. */
function reported(state: State, event: Report, effects: Effect[]): State {
  const { job } = state;
  if (event.type === 'waited')
    return job?.at === 'waiting' && job.token === event.token ? waited(state, job.source, event.refused, effects) : state;
  if (job === null || job.at === 'waiting' || job.number !== event.number) return state;
  const idle: State = { ...state, job: null };
  if (event.type === 'constructed' && job.at === 'constructing') {
    const { number, source, key } = job;
    const next: Next = { number, source, key, candidate: event.candidate, replaces: state.live !== null };
    return state.live && isStillWanted(state, next) ? closing(state, DRAIN_MS, next, effects) : initializing(state, next, effects);
  }
  if (event.type === 'closed' && job.at === 'closing') {
    if (job.next) return initializing(state, job.next, effects);
    effects.push({ type: 'publish', topic: 'extension.stopped' }, { type: 'changed' });
    return idle;
  }
  if (event.type === 'initialized' && job.at === 'initializing') {
    const { generation } = event;
    const topic = job.replaces && job.source === 'wanted' ? 'extension.reloaded' : 'extension.activated';
    effects.push({ type: 'remember', generation }, { type: 'publish', topic, number: generation.number }, { type: 'changed' });
    return {
      ...idle,
      live: generation,
      good: { version: generation, key: job.key },
      tried: job.source === 'wanted' ? null : state.tried,
      asked: false,
      resting: false,
      failure: null,
      startDue: job.starts !== state.starts,
      withoutRoom: job.source === 'wanted' ? 0 : state.withoutRoom, // the wanted version still waits for room
    };
  }
  if (event.type === 'failed' && job.at === 'starting') {
    if (state.live?.number !== job.number || state.ending) return idle;
    effects.push({ type: 'record', failure: event.failure });
    return { ...idle, failure: event.failure };
  }
  if (event.type === 'failed' && (job.at === 'constructing' || job.at === 'initializing')) return failed(idle, job, event, effects);
  return (event.type === 'started' && job.at === 'starting') || (event.type === 'discarded' && job.at === 'discarding') ? idle : state;
}

/** Begins what the state asks for, while nothing is under way. */
function settle(state: State, effects: Effect[]): State {
  if (state.job !== null) return state;
  const { live, wanted, stopGraceMs } = state;
  if (live !== null) {
    if (stopGraceMs !== null) return closing(state, stopGraceMs, null, effects);
    if (wanted === null || !wanted.config.enabled) return closing({ ...state, good: null }, DRAIN_MS, null, effects);
    if (isInvalid(state) && !mayFallBack(state)) return closing(state, DRAIN_MS, null, effects);
    if (state.failure !== null || state.resting) return closing(state, state.refused === null ? 0 : DRAIN_MS, null, effects);
    if (state.ending) return state;
    if (isDue(state) || state.unchecked) return waiting(state, 'wanted', effects);
    return state.startDue ? starting(state, effects) : state;
  }
  const source = state.asked && !state.ending ? sourceIn(state) : null;
  return source === null ? { ...state, asked: false, forced: false } : waiting(state, source, effects);
}

/** What runs is not what is wanted, and what is wanted has not been tried. */
function isDue(state: State): boolean {
  const { wanted, good, tried, forced } = state;
  if (wanted === null || isInvalid(state)) return false;
  return forced || (wanted.key !== good?.key && wanted.key !== tried);
}

/** What can be loaded; null: nothing. */
function sourceIn(state: State): Source | null {
  const { wanted, failure } = state;
  if (wanted === null || !wanted.config.enabled || failure !== null) return null;
  if (usesFallback(state)) return 'good';
  return isInvalid(state) ? null : 'wanted';
}

/** What is wanted cannot run as it is written; what waits for another extension is sound itself, unless an edit made up that other one. */
function isInvalid(state: State): boolean {
  const { wanted, good } = state;
  const failure = wanted?.declared ?? null;
  if (failure === null || !isBlocked(failure)) return failure !== null;
  const before = good?.version.declaration.manifest?.depends_on ?? [];
  const now = wanted?.declaration.manifest?.depends_on ?? [];
  return failure.code === 'dependency_missing' && mayFallBack(state) && now.some((id) => !before.includes(id));
}

function declared(state: State, wanted: Wanted, effects: Effect[]): State {
  effects.push({ type: 'forget failures' }, { type: 'forget notes' });
  const { enabled } = wanted.config;
  const former = enabled || state.live ? state.good : null;
  const isNewest = enabled && wanted.declared === null && !(former && hasRun(former.version));
  const good = isNewest ? { version: wanted, key: wanted.key } : former;
  const next: State = { ...resetFailures(state), wanted, good };
  if (state.wanted && !next.live) effects.push({ type: 'changed' });
  return { ...next, unchecked: wanted.declared !== null && !isInvalid(next) };
}

function resetFailures(state: State): State {
  return { ...cancelled(state), tried: null, failure: null, refused: null, crashes: [], notBefore: 0, withoutRoom: 0 };
}

/** Waiting ends: whatever it was for is decided again. */
function cancelled(state: State): State {
  return state.job?.at === 'waiting' ? { ...state, job: null } : state;
}

function waiting(state: State, source: Source, effects: Effect[]): State {
  const token = state.begun + 1;
  const version = source === 'good' && state.good ? state.good.version : state.wanted;
  if (version === null) return state;
  effects.push({ type: 'wait', token, until: state.notBefore, version });
  return { ...state, begun: token, refused: null, job: { at: 'waiting', token, source } };
}

function waited(state: State, source: Source, refused: string | null, effects: Effect[]): State {
  if (refused !== null)
    return { ...state, job: null, asked: false, forced: false, refused, resting: state.live !== null, unchecked: false };
  if (state.live && !isDue(state)) return { ...state, job: null, unchecked: false }; // it was only asked whether it may go on
  const from = source === 'good' ? state.good?.version : state.wanted;
  const key = source === 'good' ? state.good?.key : state.wanted?.key;
  if (!from || key === undefined) return { ...state, job: null };
  const number = state.made + 1;
  if (source === 'wanted' && state.live) effects.push({ type: 'forget failures' }); // what follows belongs to the new version
  effects.push({ type: 'construct', number, from });
  return { ...state, made: number, forced: false, unchecked: false, job: { at: 'constructing', number, source, key } };
}

/** Also while it was made something else may have become wanted. */
function isStillWanted(state: State, { source, key }: Pick<Next, 'source' | 'key'>): boolean {
  if (state.stopGraceMs !== null || state.wanted === null || !state.wanted.config.enabled || state.forced) return false;
  if (state.ending && state.live !== null) return false;
  return source === 'good' ? usesFallback(state) && state.good?.key === key : !isInvalid(state) && state.wanted.key === key;
}

function initializing(state: State, next: Next, effects: Effect[]): State {
  const { number, candidate } = next;
  if (!isStillWanted(state, next)) {
    effects.push({ type: 'discard', number, candidate });
    return { ...state, asked: state.asked || (state.live === null && next.replaces), job: { at: 'discarding', number } };
  }
  effects.push({ type: 'initialize', number, candidate, starts: state.starts });
  return { ...state, job: { at: 'initializing', starts: state.starts, ...next } };
}

function closing(state: State, graceMs: number, next: Next | null, effects: Effect[]): State {
  const { live } = state;
  if (live === null) return state;
  effects.push({ type: 'close', number: next?.number ?? live.number, generation: live, graceMs }, { type: 'changed' });
  return { ...state, live: null, resting: false, startDue: false, job: { at: 'closing', number: next?.number ?? live.number, next } };
}

function starting(state: State, effects: Effect[]): State {
  const { live, starts } = state;
  if (live === null) return state;
  effects.push({ type: 'start', number: live.number, generation: live, starts });
  return { ...state, startDue: false, job: { at: 'starting', number: live.number } };
}

/** What fails before the switch leaves the former version as it is; after it, the former one is constructed again. */
function failed(
  state: State,
  job: Extract<Job, { at: 'constructing' | 'initializing' }>,
  event: Extract<LifeEvent, { type: 'failed' }>,
  effects: Effect[],
): State {
  const hadRun = job.at === 'initializing' && job.replaces;
  if (state.ending || !isStillWanted(state, job)) return { ...state, asked: state.asked || hadRun };
  const attempt = event.lacksRoom ? state.withoutRoom + 1 : state.withoutRoom;
  const next: State = { ...state, withoutRoom: attempt };
  if (event.lacksRoom) effects.push({ type: 'try later', afterMs: restartDelay(attempt - 1), attempt });
  const isKept = job.source === 'wanted' && mayFallBack(state);
  const cause = (job.source === 'good' ? state.wanted?.declared : null) ?? event.failure;
  const failure = isKept ? stillRunning(event.failure) : cause;
  effects.push({ type: 'record', failure }, { type: 'changed' });
  if (!isKept) return { ...next, failure, asked: false };
  return { ...next, tried: job.key, asked: state.live === null };
}

function hasRoom(state: State, attempt: number, effects: Effect[]): State {
  if (attempt !== state.withoutRoom || state.ending) return state;
  effects.push({ type: 'changed' }, { type: 'wake services' });
  return { ...state, failure: null, tried: null };
}

function crashed(state: State, failure: Failure, effects: Effect[]): State {
  effects.push({ type: 'record', failure });
  const next: State = { ...state, crashes: withCrash(state.crashes, failure.at) };
  return state.live && isBreakerOpen(next.crashes) ? broken(next, failure, effects) : next;
}

function lost(state: State, { number, failure, needed }: Extract<LifeEvent, { type: 'lost' }>, effects: Effect[]): State {
  effects.push({ type: 'record', failure });
  if (state.live?.number !== number) return state;
  const before = state.crashes.length;
  const next: State = {
    ...state,
    live: null,
    resting: false,
    startDue: false,
    crashes: withCrash(state.crashes, failure.at),
    notBefore: failure.at + (before === 0 ? 0 : restartDelay(before - 1)),
    asked: needed && !state.ending,
  };
  effects.push({ type: 'publish', topic: 'extension.stopped' }, { type: 'changed' });
  return isBreakerOpen(next.crashes) ? broken({ ...next, asked: false }, failure, effects) : next;
}

function broken(state: State, last: Failure, effects: Effect[]): State {
  const failure: Failure = {
    ...last,
    phase: 'background',
    code: 'breaker_open',
    message: `stopped after ${state.crashes.length} crashes in five minutes, the last: ${last.message}`,
    cure: `${last.cure ?? 'correct it'}, or run: pith extensions reload ${last.extensionId}`,
  };
  effects.push({ type: 'record', failure });
  return { ...state, failure };
}

function stillRunning(failure: Failure): Failure {
  const { phase, message } = failure;
  return { ...failure, phase: 'reload', message: `New version is invalid; still running the previous one: ${phase}: ${message}` };
}
