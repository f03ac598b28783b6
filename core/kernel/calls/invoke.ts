import { PithError, type TurnInfo } from '../../contract/index.ts';
import type { Phase } from '../records/error-codes.ts';
import type { Generation } from './generation.ts';
import type { Failures } from '../records/failures.ts';
import { problemOf } from '../records/problem.ts';
import { openStream } from './open-stream.ts';
import { DIRECT, type Wire } from './wire.ts';

export interface Invocation {
  /** `skill.listSkills`, `tool.execute`, … */
  readonly operation: string;
  readonly values: readonly unknown[];
  readonly timeoutMs: number | null;
  readonly signal: AbortSignal | undefined;
  readonly phase: Phase;
  /** The result is an object with methods, which only one process can have. */
  readonly byReference?: boolean;
}

/**
 * Calls one operation of a running version: copied where the wire copies, cut at its time, laid at the extension's door. Rejects with
 * what it threw.
 */
export async function invoke(
  { wire }: { readonly wire: Wire },
  generation: Generation,
  { operation, values, timeoutMs, signal, phase, byReference }: Invocation,
): Promise<unknown> {
  const { id } = generation.declaration;
  const act = prepared(wire, generation, operation, values);
  const timedOut = (): PithError =>
    new PithError(
      phase === 'tool call' ? 'tool_timeout' : 'provider_timeout',
      `${operation} of '${id}' took longer than ${timeoutMs} ms and was cut`,
      { retryable: true },
    );
  const result = await generation.calls.run({ timeoutMs, timedOut, signal }, async (callSignal) =>
    generation.run(phase, () => act(callSignal), correlationOf(values)),
  );
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

/** Keeps a failed call unless its caller or a reload ended it, or its answer is an error that the caller sees (one with a code of its own). */
export function recordCall(
  { failures }: { readonly failures: Failures },
  { extensionId, phase, correlationId }: FailedCall,
  error: unknown,
): void {
  if (error instanceof PithError && (ENDED.has(error.code) || (!UNSEEN.has(phase) && !FAULTS.has(error.code)))) return;
  failures.record(extensionId, problemOf(error, phase, phase === 'tool call' ? 'tool_failed' : 'provider_failed'), correlationId);
}

/** A turn goes on without what fails in these phases: nobody but the record knows of it. */
const UNSEEN: ReadonlySet<Phase> = new Set<Phase>(['getContext', 'getTurnTools', 'background']);
const ENDED = new Set(['aborted', 'interrupted']);
const FAULTS = new Set(['provider_timeout', 'tool_timeout', 'not_serialisable', 'exit_refused']);

/** The correlation id of the message for which something is called: its turn or its delivery stands among the arguments. */
export function correlationOf(values: readonly unknown[]): string | undefined {
  for (const value of values) {
    const { turn, correlationId } = (typeof value === 'object' && value !== null ? value : {}) as Partial<TurnInfo> & { turn?: TurnInfo };
    const found = turn?.correlationId ?? correlationId;
    if (typeof found === 'string') return found;
  }
  return undefined;
}
