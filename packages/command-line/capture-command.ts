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
  run(input: ParsedCommand, io: ReturnType<typeof silentIO>, signal: AbortSignal): Promise<number | void>;
}

/**
 * Runs the command at `path` as with `--json`, where nobody can answer a question. Missing options get their defaults. Rejects
 * `command_unknown`, or with the command's own error.
 */
export async function captureCommand(
  provider: CommandSource,
  path: string,
  input: Partial<ParsedCommand> & { readonly userId?: string; readonly session?: CapturedSession },
  signal: AbortSignal,
): Promise<CapturedCommand> {
  const command = (await provider.getCommands()).find((each) => each.path === path);
  if (command === undefined) throw new WrongUse('command_unknown', `no command '${path}': it is not offered here`, 'see: pith --help');
  const values: Json[] = [];
  const lines: string[] = [];
  const defaults = (command.options ?? []).flatMap(({ name, default: value }) => (value === undefined ? [] : [[name, value] as const]));
  const exitCode = await command.run(
    { arguments: input.arguments ?? {}, options: { ...Object.fromEntries(defaults), ...input.options } },
    silentIO(
      (value) => values.push(value),
      (line) => lines.push(line),
      { userId: input.userId ?? 'local', session: input.session },
    ),
    signal,
  );
  return { exitCode: exitCode ?? 0, values, text: lines.join('\n') };
}

/** The conversation that a command is about. */
interface CapturedSession {
  readonly threadId: string;
  readonly agentId: string;
}

function silentIO(
  json: (value: Json) => void,
  print: (text: string) => void,
  { userId, session }: { readonly userId: string; readonly session: CapturedSession | undefined },
) {
  return {
    print,
    error: print,
    json,
    ask: (): Promise<string | null> => Promise.resolve(null),
    input: { async *[Symbol.asyncIterator](): AsyncGenerator<string> {} },
    interactive: false,
    wantsJson: true,
    quiet: true,
    colour: false,
    columns: 80,
    workingDirectory: process.cwd(),
    userId,
    ...(session === undefined ? {} : { session: { ...session, send: () => undefined } }), // nobody is there who would say it
  };
}
