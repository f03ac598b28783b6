import type { Failure } from '../../declarations/index.ts';
import type { Crashes } from './services.ts';
import type { Candidate, Generation, Version } from '../calls/generation.ts';

/** What a person wants to run: the newest declaration and settings. */
export interface Wanted extends Version {
  /** Changes whenever sources, rights or settings do. */
  readonly key: string;
  /** Why the declaration cannot run as it is written. */
  readonly declared: Failure | null;
}

/** What is loaded: what is wanted, or the last version that ran. */
export type Source = 'wanted' | 'good';

/** What is under way. An extension does one thing at a time. */
export type Job =
  | { readonly at: 'waiting'; readonly token: number; readonly source: Source }
  | { readonly at: 'constructing'; readonly number: number; readonly source: Source; readonly key: string }
  | { readonly at: 'closing'; readonly number: number; readonly next: Next | null }
  | { readonly at: 'discarding'; readonly number: number }
  | ({ readonly at: 'initializing'; readonly starts: Starts } & Next)
  | { readonly at: 'starting'; readonly number: number };

/** A candidate on its way, and whether it takes the place of a version that ran. */
export interface Next {
  readonly number: number;
  readonly source: Source;
  readonly key: string;
  readonly candidate: Candidate;
  readonly replaces: boolean;
}

/** What of an extension is started: nothing, `start`, or its service as well. */
export type Starts = 'nothing' | 'used' | 'all';

/** All that is known of the life of one extension id. It outlives the coming and going of its folder. */
export interface State {
  /** null: no folder declares it now. */
  readonly wanted: Wanted | null;
  /** The version that answers calls. */
  readonly live: Generation | null;
  readonly job: Job | null;
  /** The last version that ran, else the last valid one that was declared, with its key; it can be constructed again. */
  readonly good: { readonly version: Generation | Wanted; readonly key: string } | null;
  /** The key that was tried and failed: `good` runs instead until something else is wanted. */
  readonly tried: string | null;
  /** Somebody waits for a version that runs. */
  readonly asked: boolean;
  /** A person wants it reloaded although nothing changed. */
  readonly forced: boolean;
  /** Whether what runs may go on is not known: something that it depends on has changed. */
  readonly unchecked: boolean;
  /** The version that runs is to be closed until it is needed again. */
  readonly resting: boolean;
  /** Why nothing of it can be loaded, until it changes or is reloaded by hand. */
  readonly failure: Failure | null;
  /** What kept the last attempt from beginning, as the end of a sentence. */
  readonly refused: string | null;
  readonly starts: Starts;
  /** What `live` was started with is not `starts` any more. */
  readonly startDue: boolean;
  readonly crashes: Crashes;
  /** After a crash: when the next version may be begun. */
  readonly notBefore: number;
  /** How often in a row the system had no room for it. */
  readonly withoutRoom: number;
  /** How often waiting was begun. */
  readonly begun: number;
  /** How many versions were begun. */
  readonly made: number;
  /** Pith is stopping: nothing is begun any more. */
  readonly ending: boolean;
  /** Milliseconds for open calls; not null: nothing of it may live any more. */
  readonly stopGraceMs: number | null;
}

export function initialState(starts: Starts): State {
  return {
    wanted: null,
    live: null,
    job: null,
    good: null,
    tried: null,
    asked: false,
    forced: false,
    unchecked: false,
    resting: false,
    failure: null,
    refused: null,
    starts,
    startDue: false,
    crashes: [],
    notBefore: 0,
    withoutRoom: 0,
    begun: 0,
    made: 0,
    ending: false,
    stopGraceMs: null,
  };
}

/** What happens to an extension, from outside and from its own effects. */
export type LifeEvent =
  /** Found or changed. */
  | { readonly type: 'declared'; readonly wanted: Wanted }
  | { readonly type: 'gone' }
  | { readonly type: 'reload by hand'; readonly wanted: Wanted }
  | { readonly type: 'asked' }
  | { readonly type: 'start'; readonly starts: Starts }
  /** A service that rejected, or an error that nobody caught. */
  | { readonly type: 'crashed'; readonly failure: Failure }
  /** A version ended by itself. `needed`: it is started again without being asked. */
  | { readonly type: 'lost'; readonly number: number; readonly failure: Failure; readonly needed: boolean }
  /** Nothing has been asked of that version for long. */
  | { readonly type: 'idle'; readonly number: number }
  | { readonly type: 'room'; readonly attempt: number }
  | { readonly type: 'ending' }
  | { readonly type: 'stop'; readonly graceMs: number }
  | { readonly type: 'waited'; readonly token: number; readonly refused: string | null }
  | { readonly type: 'constructed'; readonly number: number; readonly candidate: Candidate }
  | { readonly type: 'initialized'; readonly number: number; readonly generation: Generation }
  | { readonly type: 'started'; readonly number: number }
  | { readonly type: 'closed'; readonly number: number }
  | { readonly type: 'discarded'; readonly number: number }
  /** Of construction, initialisation or start; what was made is closed. */
  | { readonly type: 'failed'; readonly number: number; readonly failure: Failure; readonly lacksRoom: boolean };

/** What is done in the world. The first six report back with an event. */
export type Effect =
  /** Waits for the dependencies, then until that time. */
  | { readonly type: 'wait'; readonly token: number; readonly until: number; readonly version: Version }
  | { readonly type: 'construct'; readonly number: number; readonly from: Wanted | Generation }
  | { readonly type: 'initialize'; readonly number: number; readonly candidate: Candidate; readonly starts: Starts }
  | { readonly type: 'start'; readonly number: number; readonly generation: Generation; readonly starts: Starts }
  | { readonly type: 'close'; readonly number: number; readonly generation: Generation; readonly graceMs: number }
  | { readonly type: 'discard'; readonly number: number; readonly candidate: Candidate }
  /** Posts `room` after that time. */
  | { readonly type: 'try later'; readonly afterMs: number; readonly attempt: number }
  /** Keeps, logs and publishes it. */
  | { readonly type: 'record'; readonly failure: Failure }
  /** Failures of former versions do not count any more. */
  | { readonly type: 'forget failures' }
  | { readonly type: 'forget notes' }
  | { readonly type: 'publish'; readonly topic: 'extension.activated' | 'extension.reloaded'; readonly number: number }
  | { readonly type: 'publish'; readonly topic: 'extension.stopped' }
  | { readonly type: 'remember'; readonly generation: Generation }
  | { readonly type: 'wake services' }
  | { readonly type: 'changed' };
