import { codeOf, messageOf, PithError, type ErrorCode } from '../contract/errors.ts';
import type { Phase } from '../contract/index.ts';
import { placeOfError } from './bundles/source-place.ts';

/** What stopped an extension, on its way to become a `Failure`. */
export class Problem extends PithError {
  readonly phase: Phase;
  readonly file: string | undefined;
  readonly line: number | undefined;

  constructor(
    phase: Phase,
    code: ErrorCode,
    message: string,
    options: { cause?: unknown; cure?: string; file?: string; line?: number } = {},
  ) {
    super(code, message, options);
    this.phase = phase;
    this.file = options.file;
    this.line = options.line;
  }
}

/** `error` as a problem of `phase`; one that is a problem already keeps its own phase. */
export function problemOf(error: unknown, phase: Phase, code: ErrorCode): Problem {
  if (error instanceof Problem) return error;
  const own = codeOf(error, code);
  const known = error instanceof PithError ? (own as ErrorCode) : code;
  const at = placeOfError(error);
  return new Problem(phase, known, messageOf(error), { cause: error, cure: error instanceof PithError ? error.cure : undefined, ...at });
}
