import type { Duplex } from 'node:stream';
import { isThenable } from '@pith/promises';
import { type Codec, openFrames } from './frames.ts';
import { answerMessage, type Ask, askMessage, type Cause, KIND, readMessage, type Message } from './message.ts';
import { pumpStream, ReceivedStream } from './streams.ts';

/** The context of a call from the other side. */
export interface Incoming extends Cause {
  readonly signal: AbortSignal;
}

export interface PeerOptions {
  readonly socket: Duplex;
  readonly codec: Codec;
  /** The most bytes queued for the other side; more breaks the connection. Absent: no limit. */
  readonly maxQueuedBytes?: number;
  /** Answers a call of the other side: a value, a promise, or parts for a stream. */
  serve(operation: string, args: readonly unknown[], incoming: Incoming): unknown;
  /** The cause of the work that runs now, which each call takes along. */
  cause?(): Cause;
  /** Runs what serves a call of the other side, so that `cause` gives this one in it. */
  under?<T>(cause: Cause, serve: () => T): T;
  /** Called once, when nothing more can be decoded. Open calls wait for `close`, which knows the reason. `gone`: the other side hung up. */
  broken(why: string, gone: boolean): void;
  /** Called with the size in bytes of each message that nobody here waits for. */
  asked?(bytes: number): void;
  /** Called with the error of a failed notification. */
  ignored?(operation: string, error: unknown): void;
}

/** Calls in both directions over one socket. */
export interface Peer {
  /** Rejects with the other side's error, `aborted`, or the error given to `close`. */
  call(operation: string, args: readonly unknown[], signal?: AbortSignal, correlationId?: string): Promise<unknown>;
  /** As `call`, but an abort is only told to the other side, whose answer is waited for. */
  callToEnd(operation: string, args: readonly unknown[], signal: AbortSignal, correlationId?: string): Promise<unknown>;
  /** As `call`, for an answer in parts. */
  stream(operation: string, args: readonly unknown[], signal?: AbortSignal, correlationId?: string): AsyncIterableIterator<unknown>;
  /** A call without an answer. */
  notify(operation: string, args: readonly unknown[]): void;
  /** Resolves when the other side answers. */
  ping(): Promise<void>;
  /** The number of open calls in both directions. */
  readonly open: number;
  /** Ends the connection and rejects every open call with `why`. */
  close(why: Error): void;
}

const MOST_OPEN = 10_000;

type Asked = Pick<Extract<Message, { readonly operation: string }>, 'operation' | 'args' | 'cause'>;

interface Begun extends Omit<Ask, 'cause'> {
  readonly correlationId: string | undefined;
  readonly toEnd?: true;
}

/** A call that waits for its answer. */
interface PendingCall {
  resolve(value: unknown): void;
  reject(error: Error): void;
  part?(value: unknown): void;
}

interface Serving {
  abort(reason: unknown): void;
  credit?(parts: number): void;
}

export function createPeer(options: PeerOptions): Peer {
  const { codec, cause: causeNow = () => ({}), under = (_, serve) => serve() } = options;
  const { errorFromData, errorToData } = codec;
  const waiting = new Map<number, PendingCall>();
  const serving = new Map<number, Serving>();
  const pings: (() => void)[] = [];
  let lastId = 0;
  let over: Error | undefined;
  let isBroken = false;
  const frames = openFrames({
    socket: options.socket,
    codec,
    maxQueuedBytes: options.maxQueuedBytes ?? Infinity,
    received(sent, bytes) {
      const message = readMessage(sent);
      if (message) receive(message, bytes);
      else broken('it sent an invalid message');
    },
    broken,
  });

  function broken(why: string, gone = false): void {
    frames.close(); // nothing that follows is read
    if (!over && !isBroken) options.broken(why, gone);
    isBroken = true;
  }

  function close(why: Error): void {
    if (over) return;
    over = why;
    frames.close();
    for (const call of waiting.values()) call.reject(why);
    for (const call of serving.values()) call.abort(why);
    waiting.clear();
    serving.clear();
  }

  function receive(message: Message, bytes: number): void {
    if (!isAwaited(message)) options.asked?.(bytes);
    if (over || isBroken) return;
    switch (message.kind) {
      case KIND.call:
      case KIND.stream:
        return under(message.cause, () => answer(message.id, message, message.kind === KIND.stream));
      case KIND.note:
        return under(message.cause, () => notified(message));
      case KIND.result:
        return settle(message.id, (call) => call.resolve(message.value));
      case KIND.error:
        return settle(message.id, (call) => call.reject(errorFromData(message.value)));
      case KIND.part:
        return waiting.get(message.id)?.part?.(message.value);
      case KIND.abort:
        return serving.get(message.id)?.abort(message.value === undefined ? undefined : errorFromData(message.value));
      case KIND.credit:
        return serving.get(message.id)?.credit?.(message.parts);
      case KIND.ping:
        return frames.send([KIND.pong], 'an answer');
      case KIND.pong:
        return pings.shift()?.();
    }
  }

  function isAwaited(message: Message): boolean {
    if (message.kind === KIND.pong) return pings.length > 0;
    return (message.kind === KIND.result || message.kind === KIND.error || message.kind === KIND.part) && waiting.has(message.id);
  }

  function settle(id: number, end: (call: PendingCall) => void): void {
    const call = waiting.get(id);
    waiting.delete(id);
    if (call) end(call);
  }

  /** The sender of a notification does not wait, so its failure is only reported here. */
  function notified({ operation, args, cause }: Asked): void {
    const ignored = (error: unknown): void => options.ignored?.(operation, error);
    try {
      const result = options.serve(operation, args, { ...cause, signal: new AbortController().signal });
      if (isThenable(result)) result.then(undefined, ignored);
    } catch (error) {
      ignored(error);
    }
  }

  function answer(id: number, { operation, args, cause }: Asked, streamed: boolean): void {
    if (serving.size >= MOST_OPEN || serving.has(id)) return broken('it asked too much at once');
    const controller = new AbortController();
    const entry: Serving = { abort: (reason) => controller.abort(reason) };
    serving.set(id, entry);
    const succeed = (value: unknown): void => {
      if (!serving.delete(id)) return;
      try {
        frames.send(answerMessage(KIND.result, id, value), `the result of ${operation}`);
      } catch (error) {
        frames.send([KIND.error, id, errorToData(error)], 'an error');
      }
    };
    const fail = (error: unknown): void => {
      if (serving.delete(id)) frames.send([KIND.error, id, errorToData(error)], 'an error');
    };
    try {
      const result = options.serve(operation, args, { ...cause, signal: controller.signal });
      if (streamed) {
        const send = (part: unknown): void => frames.send(answerMessage(KIND.part, id, part), `a part of ${operation}`);
        pumpStream(result, { codec, send, entry, ended: () => !serving.has(id) }).then(succeed, fail);
      } else if (isThenable(result)) result.then(succeed, fail);
      else succeed(result);
    } catch (error) {
      fail(error);
    }
  }

  function begin(kind: number, { operation, args, correlationId, toEnd }: Begun, call: PendingCall, signal?: AbortSignal): number {
    const id = ++lastId;
    const why = over ?? (signal?.aborted ? abortedBy(signal, codec) : undefined);
    if (why) call.reject(why);
    else {
      try {
        const cause = correlationId === undefined ? causeNow() : { ...causeNow(), correlationId };
        frames.send(askMessage(kind, id, { operation, args, cause }), `an argument of ${operation}`);
        waiting.set(id, signal ? watched(id, call, signal, toEnd) : call);
      } catch (error) {
        call.reject(error as Error);
      }
    }
    return id;
  }

  /** The call; aborting it tells the other side at once. */
  function watched(id: number, call: PendingCall, signal: AbortSignal, toEnd = false): PendingCall {
    const onAbort = (): void => {
      if (toEnd) return sendAbort(id, signal.reason);
      if (!waiting.delete(id)) return;
      cancel(id, signal.reason);
      call.reject(abortedBy(signal, codec));
    };
    const done = (): void => signal.removeEventListener('abort', onAbort);
    signal.addEventListener('abort', onAbort);
    return {
      ...call,
      resolve(value) {
        done();
        call.resolve(value);
      },
      reject(error) {
        done();
        call.reject(error);
      },
    };
  }

  function cancel(id: number, reason?: unknown): void {
    waiting.delete(id);
    sendAbort(id, reason);
  }

  function sendAbort(id: number, reason: unknown): void {
    if (!over) frames.send(answerMessage(KIND.abort, id, reason === undefined ? undefined : errorToData(reason)), 'an abort');
  }

  return {
    call: (operation, args, signal, correlationId) =>
      new Promise((resolve, reject) => void begin(KIND.call, { operation, args, correlationId }, { resolve, reject }, signal)),
    callToEnd: (operation, args, signal, correlationId) =>
      new Promise((resolve, reject) => void begin(KIND.call, { operation, args, correlationId, toEnd: true }, { resolve, reject }, signal)),
    stream(operation, args, signal, correlationId) {
      const received = new ReceivedStream({
        credit: (parts) => !over && frames.send([KIND.credit, id, parts], 'credit'),
        cancel: () => cancel(id),
        flooded: () => broken(`it sent more parts of ${operation} than were asked for`),
      });
      const id = begin(KIND.stream, { operation, args, correlationId }, received.waiting, signal);
      return received;
    },
    notify(operation, args) {
      if (!over) frames.send(askMessage(KIND.note, 0, { operation, args, cause: causeNow() }), `an argument of ${operation}`);
    },
    ping: () =>
      new Promise((resolve) => {
        pings.push(resolve);
        if (!over) frames.send([KIND.ping], 'a question');
      }),
    get open() {
      return waiting.size + serving.size;
    },
    close,
  };
}

function abortedBy({ reason }: AbortSignal, codec: Codec): Error {
  return codec.refusal('aborted', 'the call was aborted', reason);
}
