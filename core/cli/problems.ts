import { relative } from 'node:path';
import type { Diagnostic } from '../contract/diagnostic.ts';
import { PithError } from '../contract/errors.ts';
import { printableLine } from '../contract/printable.ts';
import type { CommandIO } from '../contract/protocols/command-provider.ts';
import type { Kernel } from '../kernel-surface.ts';
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
  readonly #said: { readonly message: string; readonly line: string }[] = [];
  readonly #notices: string[] = [];

  constructor(
    private readonly kernel: Pick<Kernel, 'problems'>,
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
    const before = [...this.#said.map(({ message }) => message), ...this.#notices];
    const problems = (await this.kernel.problems()).filter(({ message }) => !before.some((text) => text.includes(message)));
    this.#said.push(...problems.map((problem) => ({ message: problem.message, line: lineOf(problem, this.io) })));
    say(problems, this.io);
  }

  /** Whether a text says no more than a problem that has been said. */
  hasSaid(text: string): boolean {
    const bare = text.replace(/^pith: /u, '');
    return this.#said.some(({ message, line }) => bare.startsWith(message) || line.includes(bare));
  }

  /** For the command: neither a notice nor an error of a turn says a problem again. */
  get quietIO(): CommandIO {
    const error = (text: string): void => {
      if (this.hasSaid(text)) return;
      this.#notices.push(text);
      this.io.error(text);
    };
    return { ...this.io, error };
  }
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
