import { relative } from 'node:path';
import type { Diagnostic } from '../contract/diagnostic.ts';
import { PithError } from '../contract/errors.ts';
import { printableLine } from '../contract/printable.ts';
import type { CommandIO } from '../contract/protocols/command-provider.ts';
import type { Kernel } from '../kernel-surface.ts';
import { describeError } from './report.ts';
import { displayWidth } from './table.ts';

const MOST_LINES = 3;

/** Says the errors in the settings, for a command that does something else. */
export function sayWrongSettings(kernel: Pick<Kernel, 'findings'>, io: CommandIO): void {
  say(
    kernel.findings().filter(({ severity }) => severity === 'error'),
    io,
  );
}

/** In how many words a conversation begins: a line that points to /doctor, where a person reads; else the problems themselves. */
export class Problems {
  readonly #told = new Set<string>();

  constructor(
    private readonly kernel: Pick<Kernel, 'problems'>,
    private readonly io: CommandIO,
  ) {}

  /** One short line for who can look at the rest by themselves. */
  async summarise(): Promise<void> {
    const problems = await this.kernel.problems();
    const [first] = problems;
    if (first === undefined) return;
    const count = `${problems.length} problem${problems.length === 1 ? '' : 's'}`;
    const text = printableLine(lineOf(first, this.io));
    const whole = `${count}: ${text} · /doctor`;
    this.io.print(displayWidth(whole) <= this.io.columns ? whole : `${count}: /doctor`);
  }

  /** Those that have not been said yet, on the error stream. */
  async say(): Promise<void> {
    const problems = (await this.kernel.problems()).filter(({ message }) => !this.#told.has(message));
    for (const { message } of problems) this.#told.add(message);
    say(problems, this.io);
  }
}

function say(problems: readonly Diagnostic[], io: CommandIO): void {
  for (const problem of problems.slice(0, MOST_LINES)) io.error(`pith: ${lineOf(problem, io)}`);
  if (problems.length > MOST_LINES) io.error(`and ${problems.length - MOST_LINES} more: pith doctor`);
}

/** `<what> <where>: <why>; <cure>` */
function lineOf({ code, message, file, line, cure }: Diagnostic, { workingDirectory }: CommandIO): string {
  const near = file === undefined ? '' : relative(workingDirectory, file);
  const place = file === undefined || message.includes(file) ? undefined : near.startsWith('..') ? file : near;
  const where = place === undefined ? undefined : `${place}${line === undefined ? '' : `:${line}`}`;
  return describeError(new PithError(code, message, { where, cure })).replace(/^pith: /u, '');
}
