import type { Clock } from '../../contract/index.ts';
import type { Phase, ErrorCode } from '../records/error-codes.ts';
import { isThenable, within } from '@pith/promises';
import { Problem, problemOf } from '../records/problem.ts';

export interface PhaseLimit {
  readonly phase: Phase;
  readonly clock: Clock;
  /** Milliseconds until the phase is cut. */
  readonly limitMs: number;
  /** The code when it throws. */
  readonly failed: ErrorCode;
  /** Told once when the phase takes longer than two seconds. */
  slow(message: string): void;
}

export const PHASE_LIMIT_MS = 10_000;
export const STOP_LIMIT_MS = 5_000;
const SLOW_MS = 2_000;

/** Runs one phase of an extension's life: warns at 2 s, cuts at the limit, turns what is thrown into a `Problem`. */
export async function runPhase<T>(limit: PhaseLimit, run: () => T | Promise<T>): Promise<T> {
  const { clock, phase, limitMs } = limit;
  let cancel: (() => void) | undefined;
  try {
    const result = run();
    if (!isThenable(result)) return result;
    cancel = clock.after(SLOW_MS, () => limit.slow(`${phase} takes longer than ${SLOW_MS / 1000} s`));
    return await within(clock, limitMs, result, () => {
      const message = `${phase} did not finish within ${limitMs / 1000} s and was cut`;
      throw new Problem(phase, 'phase_timeout', message, { cure: 'do slow work in runBackground' });
    });
  } catch (error) {
    throw problemOf(error, phase, limit.failed);
  } finally {
    cancel?.();
  }
}
