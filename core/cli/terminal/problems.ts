import { relative } from 'node:path';
import { type CommandIO, type Diagnostic, PithError } from '../../contract/index.ts';
import { printableLine } from '@pith/plain-text';
import { type Kernel, failureOf } from '../../compose/index.ts';
import { describeError } from './report.ts';

const MOST_LINES = 3;
/** Where nobody can ask for the rest. */
const MOST_ERRORS = 20;

/** Says the errors in the settings, for a command that does something else. */
export function sayWrongSettings(kernel: Pick<Kernel, 'findings'>, io: CommandIO): void {
  say(
    kernel.findings().filter(({ severity }) => severity === 'error'),
    io,
  );
}

/** What a conversation says of its problems: all of them briefly where a person reads and has /doctor; else each once. */
export class Problems {
  readonly #said = new Set<string>();
  /** What the command said on the error stream. */
  readonly #notices = new Set<string>();

  constructor(
    private readonly kernel: Pick<Kernel, 'problems' | 'events'>,
    private readonly io: CommandIO,
  ) {}

  /** A line each, cut to the terminal. */
  async summarise(): Promise<void> {
    const problems = await this.kernel.problems();
    if (problems.length === 0) return;
    const { io } = this;
    const texts = problems.slice(0, MOST_LINES).map((problem) => `  ${printableLine(lineOf(problem, io))}`);
    const rest = problems.length > MOST_LINES ? '/doctor for the rest' : '/doctor';
    io.print([`${problems.length} problem${problems.length === 1 ? '' : 's'} (${rest}):`, ...texts].join('\n'));
  }

  /** Those that have not been said yet, on the error stream. */
  async say(): Promise<void> {
    const isSaid = (problem: Diagnostic) => this.#said.has(problem.message) || formsOf(problem).some((text) => this.#notices.has(text));
    this.#tell((await this.kernel.problems()).filter((problem) => !isSaid(problem)));
  }

  /** Says each that comes while Pith runs when it comes. */
  follow(): void {
    const { events } = this.kernel;
    events.handle('problem.found', (problem) => this.#tell([problem]));
    events.handle('extension.failed', (failure) => {
      if (failure.phase === 'reload') this.#tell([failureOf(failure.extensionId, failure)]);
    });
  }

  /** Whether a text says no more than problems that have been said. */
  hasSaid(text: string): boolean {
    return this.#said.has(keyOf(text));
  }

  /** For the command: neither a notice nor an error of a turn says a problem again. */
  get quietIO(): CommandIO {
    const error = (text: string): void => {
      if (this.hasSaid(text)) return;
      this.#notices.add(keyOf(text));
      this.io.error(text);
    };
    return { ...this.io, error };
  }

  #tell(problems: readonly Diagnostic[]): void {
    for (const problem of problems) for (const text of [problem.message, ...formsOf(problem)]) this.#said.add(text);
    say(problems, this.io);
  }
}

/** The texts in which a turn says a problem. */
function formsOf({ code, message, cure }: Diagnostic): readonly string[] {
  const why = code === 'model_unknown' ? message.slice(message.indexOf(': ') + 2) : message; // the turn knows nothing of the setting
  return [why, `${why}; ${cure}`].map(keyOf);
}

/** What a text says; all that an agent cannot run for is one. */
function keyOf(text: string): string {
  const bare = text.replace(/^pith: /u, '');
  return /^the agent '[^']+' cannot run:/u.exec(bare)?.[0] ?? bare;
}

function say(problems: readonly Diagnostic[], io: CommandIO): void {
  for (const problem of problems.slice(0, MOST_ERRORS)) io.error(`pith: ${lineOf(problem, io)}`);
  if (problems.length > MOST_ERRORS) io.error(`and ${problems.length - MOST_ERRORS} more: pith doctor`);
}

/** `<what> <where>: <why>; <cure>` */
function lineOf({ code, message, file, line, cure }: Diagnostic, { workingDirectory }: CommandIO): string {
  const near = file === undefined ? '' : relative(workingDirectory, file);
  const place = file === undefined || message.includes(file) ? undefined : near.startsWith('..') ? file : near;
  const where = place === undefined ? undefined : `${place}${line === undefined ? '' : `:${line}`}`;
  return describeError(new PithError(code, message, { where, cure })).replace(/^pith: /u, '');
}
