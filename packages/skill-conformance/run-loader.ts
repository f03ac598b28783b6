import { elapsed } from '@pith/promises';
import { runProgram } from '@pith/supervised-process';

/** How a loader is started, once for each case. */
export interface LoaderCommand {
  /** `{dir}` is replaced by the folder of skills, `{root}` by the one above it; without either, the folder of skills is appended. */
  readonly argv: readonly string[];
  /** Its working folder, with the same placeholders; relative to the person's. */
  readonly cwd: string;
  readonly timeoutMs: number;
}

/** The outcome of one run. */
export interface LoaderRun {
  readonly end: 'ended' | 'hung' | 'flooded';
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  /** The end of its error output. */
  readonly stderr: string;
  readonly ms: number;
}

const MOST_PRINTED = 16 * 1024 * 1024;
const LAST_WORDS = 2000;

/** Runs the loader once on one root. Rejects where the program cannot be started, or on abort. */
export async function runLoader({ argv, cwd, timeoutMs }: LoaderCommand, root: string, signal?: AbortSignal): Promise<LoaderRun> {
  const started = elapsed();
  const program = { argv: wordsFor(argv, root), cwd: placed(cwd, root), mostBytes: MOST_PRINTED, mostMs: timeoutMs };
  const { code, signal: by, errors, passed, output } = await runProgram(program, signal);
  const end = passed === null ? 'ended' : passed === 'time' ? 'hung' : 'flooded';
  return { end, code, signal: by, stdout: output.toString('utf8'), stderr: errors.slice(-LAST_WORDS), ms: Math.round(elapsed() - started) };
}

function wordsFor(argv: readonly string[], root: string): readonly string[] {
  const isNamed = argv.some((word) => word.includes('{dir}') || word.includes('{root}'));
  return (isNamed ? argv : [...argv, '{dir}']).map((word) => placed(word, root));
}

function placed(word: string, root: string): string {
  return word.replaceAll('{dir}', () => `${root}/skills`).replaceAll('{root}', () => root);
}
