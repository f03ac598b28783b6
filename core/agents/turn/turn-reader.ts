import type { TurnEvent } from '../../contract/index.ts';
import { createPipe, type Pipe } from './pipe.ts';

/** The events of one turn, one promise each: a generator around another would cost each event several. */
export type TurnEvents = AsyncIterableIterator<TurnEvent, undefined>;

/** A turn under way. */
export interface BegunTurn {
  /** Ends it, because nobody reads any more, and resolves when it has ended. */
  stop(): Promise<void>;
}

/** Begins with the first event that is asked for. */
export class TurnReader implements TurnEvents {
  readonly #pipe = createPipe<TurnEvent>();
  readonly #begin: (pipe: Pipe<TurnEvent>) => BegunTurn;
  #turn: BegunTurn | undefined;
  #isLeft = false;

  constructor(begin: (pipe: Pipe<TurnEvent>) => BegunTurn) {
    this.#begin = begin;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<TurnEvent, undefined>> {
    if (!this.#isLeft) this.#turn ??= this.#begin(this.#pipe);
    return this.#pipe.next();
  }

  async return(): Promise<IteratorResult<TurnEvent, undefined>> {
    this.#isLeft = true;
    this.#pipe.leave();
    await this.#turn?.stop();
    return { done: true, value: undefined };
  }
}

/** A turn of what `ready` makes, or only `failed` where it cannot be made. */
export class LateTurn implements TurnEvents {
  readonly #open: () => Promise<TurnEvents>;
  readonly #failed: (error: unknown) => TurnEvent;
  #opening: Promise<void> | undefined;
  #events: TurnEvents | undefined;
  #last: TurnEvent | undefined;
  #isLeft = false;

  constructor(open: () => Promise<TurnEvents>, failed: (error: unknown) => TurnEvent) {
    this.#open = open;
    this.#failed = failed;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<TurnEvent, undefined>> {
    return this.#events ? this.#events.next() : this.#first();
  }

  async return(): Promise<IteratorResult<TurnEvent, undefined>> {
    this.#isLeft = true;
    await this.#opening;
    await this.#events?.return?.();
    return { done: true, value: undefined };
  }

  async #first(): Promise<IteratorResult<TurnEvent, undefined>> {
    if (!this.#isLeft) await (this.#opening ??= this.#begin());
    if (this.#events && !this.#isLeft) return this.#events.next();
    const value = this.#isLeft ? undefined : this.#last;
    this.#last = undefined;
    return value ? { done: false, value } : { done: true, value: undefined };
  }

  async #begin(): Promise<void> {
    try {
      this.#events = await this.#open();
    } catch (error) {
      this.#last = this.#failed(error);
    }
  }
}
