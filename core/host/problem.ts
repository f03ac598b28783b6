import { codeOf, messageOf, PithError, type ErrorCode } from '../contract/errors.ts';
import type { Phase } from '../contract/index.ts';

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
  const at = placeOf(error);
  return new Problem(phase, known, messageOf(error), { cause: error, cure: error instanceof PithError ? error.cure : undefined, ...at });
}

/** The innermost place in a stack that lies in a bundle; source maps make it the author's file. */
function placeOf(error: unknown): { file?: string; line?: number } {
  const frame =
    error instanceof Error
      ? /\(?((?:file:\/\/)?\/[^\s():]+):(\d+):\d+\)?/.exec(
          error.stack
            ?.split('\n')
            .slice(1)
            .find((line) => line.includes('/bundles/')) ?? '',
        )
      : null;
  return frame?.[1] && frame[2] ? { file: frame[1].replace(/^file:\/\//, ''), line: Number(frame[2]) } : {};
}
