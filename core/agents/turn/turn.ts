import { setMaxListeners } from 'node:events';
import { PithError } from '../../contract/errors.ts';
import type { TurnEvent } from '../../contract/index.ts';
import { createFamilies } from './family.ts';
import { createNoticer } from './noticer.ts';
import type { OriginalRequest } from './foreign-turn.ts';
import type { Pipe } from './pipe.ts';
import { plainFailure } from './plain-failure.ts';
import { runTurn } from './run-turn.ts';
import { LateTurn, TurnReader, type BegunTurn, type TurnEvents } from './turn-reader.ts';
import type { TurnDependencies } from './turn-types.ts';

export type { TurnDependencies } from './turn-types.ts';

export interface Turns {
  /** Begins with the first event that is asked for. Never throws; the last event is always `turn-end`. Who stops reading ends the turn. */
  run(request: OriginalRequest, signal?: AbortSignal): TurnEvents;
}

/** The one way to run an agent. `cleaned` takes secrets out of what is said of a failure: providers repeat keys there. */
export function createTurns(deps: TurnDependencies, cleaned: (event: TurnEvent) => TurnEvent = (event) => event): Turns {
  const shared = { noticer: createNoticer(), families: createFamilies() };

  function begin(request: OriginalRequest, signal: AbortSignal | undefined, pipe: Pipe<TurnEvent>): BegunTurn {
    const stop = new AbortController();
    setMaxListeners(0, stop.signal); // calls side by side listen to it, and the turns that they call
    let ended = false;
    const push = (event: TurnEvent) => {
      ended ||= event.type === 'turn-end';
      pipe.push(event.type === 'notice' || event.type === 'turn-end' ? cleaned(event) : event);
    };
    const unlisten = follow(signal, stop);
    let leave = (): void => undefined;
    const nobodyReads = () => {
      unlisten();
      stop.abort(new PithError('aborted', 'nobody reads this turn any more'));
    };
    const work = async () => {
      const place = shared.families.place(request);
      leave = follow(place.parent?.signal, stop);
      await deps.queue.run(request.threadId, (hold) => runTurn(deps, shared, request, place, { ...pipe, push }, stop, hold), stop.signal);
    };
    const done = work()
      // After the end only the lease can fail to be given back: nothing is lost, it runs out by itself.
      .catch((error: unknown) => (ended ? deps.unreleased?.(request.threadId, error) : push(neverBegan(error, stop.signal))))
      .finally(() => {
        nobodyReads();
        leave();
        pipe.end();
      });
    return {
      stop() {
        nobodyReads();
        return done;
      },
    };
  }

  return { run: (request, signal) => new TurnReader((pipe) => begin(request, signal, pipe)) };
}

/** `stop` aborts when `signal` does. Returns its off. */
function follow(signal: AbortSignal | undefined, stop: AbortController): () => void {
  const onAbort = () => stop.abort(signal?.reason);
  if (signal?.aborted) onAbort();
  else signal?.addEventListener('abort', onAbort, { once: true });
  return () => signal?.removeEventListener('abort', onAbort);
}

/** A turn of what `ready` makes, which ends also when that fails: the store may be damaged, or the disk full. `cleaned` takes secrets out. */
export function runWhenReady(
  ready: () => Promise<Turns>,
  cleaned: (event: TurnEvent) => TurnEvent,
  request: OriginalRequest,
  signal?: AbortSignal,
): TurnEvents {
  return new LateTurn(
    async () => (await ready()).run(request, signal),
    (error) => cleaned(neverBegan(error, signal)),
  );
}

/** The turn could not even begin, for instance because it was aborted while it waited for its place. */
function neverBegan(error: unknown, signal?: AbortSignal): TurnEvent {
  const usage = { inputTokens: 0, outputTokens: 0 };
  if (signal?.aborted) return { type: 'turn-end', reason: 'aborted', text: '', usage };
  return { type: 'turn-end', reason: 'error', text: '', usage, error: plainFailure(error) };
}
