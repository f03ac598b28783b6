import { codeOf, messageOf, PithError } from '../../contract/index.ts';
import { toJsonValue } from './json-value.ts';

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
    const { cure, where, retryable, statusCode } = error instanceof PithError ? error : ({} as Partial<PithError>);
    return new PithError(codeOf(error, 'provider_failed'), messageOf(error), { cure, where, retryable, statusCode });
  },
};

/** Arguments, and the signal after them, which is carried apart. */
export function splitSignal(args: readonly unknown[]): { readonly values: readonly unknown[]; readonly signal: AbortSignal | undefined } {
  const given = args.at(-1);
  return given instanceof AbortSignal ? { values: args.slice(0, -1), signal: given } : { values: args, signal: undefined };
}
