import { messageOf, PithError } from '../../contract/errors.ts';
import type { CallSignal } from '../calls/calls.ts';

/** A call that has been made and not been answered. */
export interface PendingCall {
  resolve(value: unknown): void;
  reject(error: Error): void;
  part?(value: unknown): void;
}

/** The call, with `done` before its end. */
export function whenEnded(call: PendingCall, done: () => void): PendingCall {
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

/** By which a call may be cut: a signal, or what makes one when it must. */
export type Cutting = AbortSignal | CallSignal;

/** The error of a call that was cut before it began. */
export function cutBefore(by: Cutting | undefined): Error | undefined {
  return by && 'aborted' in by && by.aborted ? abortedBy(by) : undefined;
}

/** Tells why a call is cut. Returns what ends the watch, where it must be ended. */
export function whenCut(by: Cutting | undefined, cut: (reason: unknown, error: Error) => void): (() => void) | undefined {
  if (by === undefined) return undefined;
  if (!('aborted' in by) && by.onCut) {
    by.onCut((error) => cut(error, error));
    return undefined;
  }
  const signal = 'aborted' in by ? by : by.get();
  const onAbort = (): void => cut(signal.reason, abortedBy(signal));
  signal.addEventListener('abort', onAbort, { once: true });
  return () => signal.removeEventListener('abort', onAbort);
}

function abortedBy(signal: AbortSignal): Error {
  const { reason } = signal as { readonly reason: unknown };
  return reason instanceof PithError ? reason : new PithError('aborted', `the call was aborted: ${messageOf(reason)}`, { cause: reason });
}
