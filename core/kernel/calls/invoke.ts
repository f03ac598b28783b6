import { codeOf, messageOf, PithError, type TurnInfo } from '../../contract/index.ts';
import type { Generation } from './generation.ts';
import { toJsonValue } from './json-value.ts';
import type { Phase } from '../records/error-codes.ts';
import { type Failures, FAULTS, problemOf } from '../records/failures.ts';

export interface Invocation {
  /** `skill.listSkills`, `tool.execute`, … */
  readonly operation: string;
  readonly values: readonly unknown[];
  readonly timeoutMs: number | null;
  readonly signal: AbortSignal | undefined;
  readonly phase: Phase;
  /** An abort of `signal` only reaches the code: the call ends when that ends. */
  readonly waitsForEnd?: true;
  /** Arguments and result may have methods, which only one process can have. */
  readonly byReference?: boolean | undefined;
}

/**
 * Calls one operation of a running version: copied where the wire copies, cut at its time, laid at the extension's door. Rejects with
 * what it threw.
 */
export async function invoke(
  { wire }: { readonly wire: Wire },
  generation: Generation,
  { operation, values, timeoutMs, signal, phase, waitsForEnd, byReference }: Invocation,
): Promise<unknown> {
  const { id } = generation.declaration;
  const act = prepared(byReference ? DIRECT : wire, generation, operation, values);
  const late = `took longer than ${timeoutMs} ms and was cut`;
  const timedOut = (): PithError =>
    phase === 'tool call'
      ? new PithError('tool_timeout', `the tool '${String(values[0])}' of '${id}' ${late}, as its timeoutMs says`, { retryable: true })
      : new PithError('provider_timeout', `${operation} of '${id}' ${late}`, { retryable: true });
  const caller = waitsForEnd ? undefined : signal;
  const result = await generation.calls.run({ timeoutMs, timedOut, signal: caller }, async (callSignal) => {
    const ending = waitsForEnd && signal ? AbortSignal.any([callSignal, signal]) : callSignal;
    return generation.run(phase, () => act(ending), correlationOf(values));
  });
  return byReference || wire === DIRECT ? result : wire.pass(result, `the result of ${operation}`);
}

/** As `invoke`, for an operation that answers with parts. */
export async function* invokeStream(
  { wire }: { readonly wire: Wire },
  generation: Generation,
  { operation, values, signal }: Pick<Invocation, 'operation' | 'values' | 'signal'>,
): AsyncGenerator<unknown> {
  const act = prepared(wire, generation, operation, values);
  const ask = async (callSignal: AbortSignal) =>
    (await generation.run('call', () => act(callSignal), correlationOf(values))) as AsyncIterable<unknown>;
  for await (const part of await openStream(generation, signal, ask)) yield wire.pass(part, `a part of ${operation}`);
}

function prepared(wire: Wire, { declaration, surface }: Generation, operation: string, values: readonly unknown[]) {
  const act = surface.operations.get(operation);
  if (!act) throw new PithError('not_declared', `'${declaration.id}' has no ${operation}`);
  const sent = wire === DIRECT ? values : values.map((value) => wire.pass(value, `an argument of ${operation}`));
  return (signal: AbortSignal) => act(sent, signal);
}

export interface FailedCall {
  readonly extensionId: string;
  readonly phase: Phase;
  /** Of the message that it was called for. */
  readonly correlationId?: string | undefined;
}

/** Keeps a failed call unless its caller or a reload ended it, or its answer is an error that the caller sees (one with its own code). */
export function recordCall(
  { failures }: { readonly failures: Pick<Failures, 'record'> },
  { extensionId, phase, correlationId }: FailedCall,
  error: unknown,
): void {
  if (error instanceof PithError && (ENDED.has(error.code) || (!UNSEEN.has(phase) && !FAULTS.has(error.code)))) return;
  failures.record(extensionId, problemOf(error, phase, phase === 'tool call' ? 'tool_failed' : 'provider_failed'), correlationId);
}

/** A turn goes on without what fails in these phases: nobody but the record knows of it. */
const UNSEEN: ReadonlySet<Phase> = new Set<Phase>(['getContext', 'getTurnTools', 'background']);
const ENDED = new Set(['aborted', 'interrupted']);

/** The correlation id of the message for which something is called: its turn or its delivery is among the arguments. */
export function correlationOf(values: readonly unknown[]): string | undefined {
  for (const value of values) {
    const { turn, correlationId } = (typeof value === 'object' && value !== null ? value : {}) as Partial<TurnInfo> & { turn?: TurnInfo };
    const found = turn?.correlationId ?? correlationId;
    if (typeof found === 'string') return found;
  }
  return undefined;
}

/** How arguments and results travel between the kernel and an extension. */
export interface Wire {
  /** Throws `not_serialisable` naming `what`. */
  pass<T>(value: T, what: string): T;
  /** What a caller sees of a thrown error. */
  error(error: unknown): PithError;
}

/** In one process: values are shared. */
export const DIRECT: Wire = {
  pass: (value) => value,
  error: (error) =>
    error instanceof PithError ? error : new PithError(codeOf(error, 'provider_failed'), messageOf(error), { cause: error }),
};

/** As between two processes: values are copied as JSON, errors keep only their data. */
export const SERIALISED: Wire = {
  pass: (value, what) => (value === undefined ? value : (toJsonValue(value, what) as typeof value)),
  error(error) {
    const { cure, where, retryable, statusCode, retryAfterMs, problems } = error instanceof PithError ? error : ({} as Partial<PithError>);
    return new PithError(codeOf(error, 'provider_failed'), messageOf(error), {
      cure,
      where,
      retryable,
      statusCode,
      retryAfterMs,
      problems,
    });
  },
};

/** Arguments, and the signal after them, which is carried apart. */
export function splitSignal(args: readonly unknown[]): { readonly values: readonly unknown[]; readonly signal: AbortSignal | undefined } {
  const given = args.at(-1);
  return given instanceof AbortSignal ? { values: args.slice(0, -1), signal: given } : { values: args, signal: undefined };
}

/**
 * Asks `generation` for an answer in parts. It is an open call of that generation until its last part has been read: a reload waits for it
 * as for any other, then ends it `interrupted`.
 */
export function openStream<T>(
  generation: Generation,
  caller: AbortSignal | undefined,
  ask: (signal: AbortSignal) => PromiseLike<AsyncIterable<T>>,
): Promise<AsyncIterable<T>> {
  return new Promise((resolve, reject) => {
    const limit = { timeoutMs: null, timedOut: neverLate, signal: caller };
    let cut: ((error: unknown) => void) | undefined;
    const whole = generation.calls.run(limit, async (signal) => {
      const answer = (await ask(signal)) as Partial<AsyncIterable<T>> | null | undefined;
      if (typeof answer?.[Symbol.asyncIterator] !== 'function')
        throw new PithError('provider_failed', 'the answer has no parts: return an AsyncIterable');
      const source = (answer as AsyncIterable<T>)[Symbol.asyncIterator]();
      await new Promise<void>((ended) => {
        const parts = new Parts(source, ended);
        cut = (error) => parts.cut(error);
        resolve(parts);
      });
    });
    whole.catch((error: unknown) => {
      reject(error);
      cut?.(error);
    });
  });
}

/** The parts of an answer, one at a time, until its end or `cut`. */
class Parts<T> implements AsyncIterable<T>, AsyncIterator<T, undefined> {
  #fail: ((error: unknown) => void) | undefined;
  #cutWith: { readonly error: unknown } | undefined;

  constructor(
    private readonly source: AsyncIterator<T>,
    private readonly ended: () => void,
  ) {}

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<T, undefined>> {
    return new Promise((resolve, reject) => {
      if (this.#cutWith) return reject(this.#cutWith.error);
      this.#fail = reject;
      this.source.next().then(
        (result) => {
          if (result.done) this.ended();
          resolve(result);
        },
        (error: unknown) => {
          this.ended();
          reject(error);
        },
      );
    });
  }

  async return(): Promise<IteratorResult<T, undefined>> {
    this.ended();
    await this.source.return?.();
    return { done: true, value: undefined };
  }

  /** A source that ignores its signal is left behind. */
  cut(error: unknown): void {
    this.#cutWith = { error };
    this.#fail?.(error);
  }
}

function neverLate(): never {
  throw new Error('a stream has no time limit');
}
