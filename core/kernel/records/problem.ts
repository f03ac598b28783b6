import { codeOf, messageOf, PithError } from '../../contract/index.ts';
import type { ErrorCode, Phase } from './error-codes.ts';
import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

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

/** The innermost place in an error's stack that lies in the bundle of an extension, as file and line of its source; empty when there is none. */
export function placeOfError(error: unknown): { readonly file?: string; readonly line?: number } {
  const frame = error instanceof Error ? FRAME.exec(error.stack ?? '') : null;
  if (!frame?.[1]) return {};
  const file = frame[1].startsWith('file:') ? fileURLToPath(frame[1]) : frame[1];
  return sourceOf(file, Number(frame[2]), Number(frame[3])) ?? {};
}

const FRAME = /((?:file:\/\/)?\/[^\n()]*?[\\/]\.cache[\\/]bundles[\\/][^\n():?]+\.mjs)(?:\?[^\n():]*)?:(\d+):(\d+)/;
const MAP = /\/\/# sourceMappingURL=data:application\/json;base64,([A-Za-z0-9+/=]+)\s*$/;

function sourceOf(bundle: string, line: number, column: number): { readonly file: string; readonly line: number } | null {
  try {
    const encoded = MAP.exec(readFileSync(bundle, 'utf8'))?.[1];
    if (encoded === undefined) return null;
    const map = new SourceMap(JSON.parse(Buffer.from(encoded, 'base64').toString('utf8')) as ConstructorParameters<typeof SourceMap>[0]);
    const entry = map.findEntry(line - 1, column - 1);
    if (!('originalSource' in entry) || !entry.originalSource) return null;
    const source = fileURLToPath(new URL(entry.originalSource, pathToFileURL(bundle)));
    return path.isAbsolute(source) ? { file: source, line: entry.originalLine + 1 } : null;
  } catch {
    return null; // a bundle that has been pruned, or no map: the failure is told without a place
  }
}
