import { relative } from 'node:path';
import { type CommandIO, type Diagnostic, PithError } from '../../contract/index.ts';
import { counted, printableLine } from '@pith/plain-text';
import { type Kernel, failureOf } from '../../compose/index.ts';
import { describeError } from './report.ts';

const MOST_LINES = 3;
const RANK: Readonly<Record<Diagnostic['severity'], number>> = { error: 0, warning: 1, info: 2 };
/** The most errors that are printed where nobody can ask for the rest. */
const MOST_ERRORS = 20;

/** Reports errors in the settings before a command that does something else. */
export function reportWrongSettings(kernel: Pick<Kernel, 'findings'>, io: CommandIO): void {
  printProblems(
    kernel.findings().filter(({ severity }) => severity === 'error'),
    io,
  );
}

/** The problems that a conversation reports: a summary where a person reads and has /doctor, else each of them once. */
export class Problems {
  readonly #reported = new Set<string>();
  /** What the command printed on the error stream. */
  readonly #notices = new Set<string>();

  constructor(
    private readonly kernel: Pick<Kernel, 'problems' | 'events'>,
    private readonly io: CommandIO,
  ) {}

  /** One line each, cut to the terminal; null: no problems. */
  async summary(): Promise<string | null> {
    const problems = await this.kernel.problems();
    if (problems.length === 0) return null;
    const { io } = this;
    const texts = [...problems]
      .sort((a, b) => RANK[a.severity] - RANK[b.severity])
      .slice(0, MOST_LINES)
      .map((problem) => `  ${printableLine(lineOf(problem, io))}`);
    const rest = problems.length > MOST_LINES ? '/doctor for the rest' : '/doctor';
    return [`${counted(problems.length, 'problem')} (${rest}):`, ...texts].join('\n');
  }

  /** Prints unreported problems on the error stream; with an agent, those that affect its turns. */
  async report(agentId?: string): Promise<void> {
    const isReported = (problem: Diagnostic) =>
      this.#reported.has(problem.message) || formsOf(problem).some((text) => this.#notices.has(text));
    this.#report((await this.kernel.problems(agentId)).filter((problem) => !isReported(problem)));
  }

  /** Reports each new problem while Pith runs. `services`: background problems too, once. */
  follow({ services = false }: { readonly services?: boolean } = {}): void {
    const { events } = this.kernel;
    events.handle('problem.found', (problem) => this.#report([problem]));
    events.handle('extension.failed', (failure) => {
      const problem = failureOf(failure.extensionId, failure);
      const isNew = failure.phase === 'reload' || (services && failure.phase === 'background' && !this.#reported.has(problem.message));
      if (isNew) this.#report([problem]);
    });
  }

  /** Whether a text says no more than reported problems. */
  hasReported(text: string): boolean {
    return this.#reported.has(keyOf(text));
  }

  /** The command's output, in which no notice or turn error repeats a problem. */
  get quietIO(): CommandIO {
    const error = (text: string): void => {
      if (this.hasReported(text)) return;
      this.#notices.add(keyOf(text));
      this.io.error(text);
    };
    const others = Object.getOwnPropertyDescriptors(this.io); // its width may change
    return Object.defineProperties({} as CommandIO, { ...others, error: { value: error, enumerable: true } });
  }

  #report(problems: readonly Diagnostic[]): void {
    for (const problem of problems) for (const text of [problem.message, ...formsOf(problem)]) this.#reported.add(text);
    printProblems(problems, this.io);
  }
}

/** The texts in which a turn reports a problem. */
function formsOf({ code, message, cure }: Diagnostic): readonly string[] {
  const why = code === 'model_unknown' ? message.slice(message.indexOf(': ') + 2) : message; // the turn does not know the setting
  return [why, `${why}; ${cure}`].map(keyOf);
}

/** Identifies a text; all reasons why one agent cannot run count as one. */
function keyOf(text: string): string {
  const bare = text.replace(/^pith: /u, '');
  return /^the agent '[^']+' cannot run:/u.exec(bare)?.[0] ?? bare;
}

function printProblems(problems: readonly Diagnostic[], io: CommandIO): void {
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
