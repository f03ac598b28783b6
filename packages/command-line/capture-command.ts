import { actingUser } from './acting-user.ts';
import { WrongUse, type CommandShape, type ParsedCommand } from './command-line.ts';

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined };

/** The output of a command that was run without a terminal. */
export interface CapturedCommand {
  readonly exitCode: number;
  /** The JSON values that it printed, in order: one, or the lines of a stream. */
  readonly values: readonly Json[];
  /** What it printed for people, errors included. */
  readonly text: string;
}

/** Anything that has commands: a provider from `find`, or the extension itself. */
export interface CommandSource {
  getCommands(): readonly RunnableCommand[] | Promise<readonly RunnableCommand[]>;
}

interface RunnableCommand extends CommandShape {
  run(input: ParsedCommand, io: ReturnType<typeof capturingIO>, signal: AbortSignal): Promise<number | void>;
}

/** For whom a command runs, and where. */
export interface CapturedInput extends Partial<ParsedCommand> {
  /** Default `local`. */
  readonly userId?: string;
  /** As of `ActingUser`. */
  readonly asAdmin?: boolean;
  /** The conversation that it is about. */
  readonly session?: { readonly threadId: string; readonly agentId: string };
  /** The base of relative paths; default: the process's own. */
  readonly workingDirectory?: string;
  /** Answers what it asks, by what it has shown so far; null: nobody does. Without it the command runs as with `--json`. */
  readonly answer?: (asked: { readonly question: string; readonly shown: string; readonly serious: readonly string[] }) => string | null;
}

/**
 * Runs the command at `path` where no person is. Missing options get their defaults. Rejects `command_unknown`, or with the command's own
 * error.
 */
export async function captureCommand(
  provider: CommandSource,
  path: string,
  input: CapturedInput,
  signal: AbortSignal,
): Promise<CapturedCommand> {
  const command = (await provider.getCommands()).find((each) => each.path === path);
  if (command === undefined) throw new WrongUse('command_unknown', `no command '${path}': it is not offered here`, 'see: pith --help');
  const values: Json[] = [];
  const lines: string[] = [];
  const defaults = (command.options ?? []).flatMap(({ name, default: value }) => (value === undefined ? [] : [[name, value] as const]));
  const exitCode = await command.run(
    { arguments: input.arguments ?? {}, options: { ...Object.fromEntries(defaults), ...input.options } },
    capturingIO(values, lines, input),
    signal,
  );
  return { exitCode: exitCode ?? 0, values, text: lines.join('\n') };
}

function capturingIO(values: Json[], lines: string[], { userId = 'local', asAdmin, session, workingDirectory, answer }: CapturedInput) {
  const print = (text: string): void => void lines.push(text);
  return {
    print,
    error: print,
    json: (value: Json): void => void values.push(value),
    ask: async (question: string, { serious = [] }: { readonly serious?: readonly string[] } = {}): Promise<string | null> =>
      answer?.({ question, shown: lines.join('\n'), serious }) ?? null,
    input: { async *[Symbol.asyncIterator](): AsyncGenerator<string> {} },
    interactive: answer !== undefined,
    wantsJson: answer === undefined,
    quiet: answer === undefined,
    colour: false,
    columns: 80,
    workingDirectory: workingDirectory ?? process.cwd(),
    ...actingUser({ userId, asAdmin }),
    ...(session === undefined ? {} : { session: { ...session, send: () => undefined } }), // nobody is there who would say it
  };
}
