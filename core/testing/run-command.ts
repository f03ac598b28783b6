import { type CommandIO, type JsonValue, PithError } from '../contract/index.ts';
import { matchCommand, parseCommandInput } from '@pith/command-line';
import { LOCAL_USER } from '../declarations/index.ts';
import type { Kernel } from '../compose/index.ts';

export interface CommandOptions {
  /** As with `--json`. */
  readonly json?: boolean;
  /** Where the person is; default `/`. */
  readonly workingDirectory?: string;
  /** Who gives the command; default `local`. */
  readonly userId?: string;
  /** What a person answers to a question; default: nobody is there. */
  answer?(question: string): string | null;
}

export interface CommandOutcome {
  readonly code: number;
  /** What it printed for people, and its errors. */
  readonly text: string;
  /** Its JSON values, in order. */
  readonly values: readonly JsonValue[];
}

/** Runs the command of an extension as the `pith` command does on a pipe. Rejects as the command does. */
export async function runCommand(
  {
    host: {
      providers: { commands },
    },
  }: Kernel,
  line: string | readonly string[],
  { json = false, workingDirectory = '/', userId = LOCAL_USER, answer = () => null }: CommandOptions = {},
): Promise<CommandOutcome> {
  const words = typeof line === 'string' ? line.split(' ') : line;
  const owner = matchCommand(commands.declared(), words)?.command.extensionId;
  const found = owner === undefined ? null : matchCommand(await commands.of(owner), words);
  if (found === null) throw new PithError('command_unknown', `no extension offers the command '${words.join(' ')}'`);
  const lines: string[] = [];
  const values: JsonValue[] = [];
  const io: CommandIO = {
    print: (text) => void (json || lines.push(text)),
    error: (text) => void lines.push(text),
    json: (value) => void values.push(value),
    ask: async (question) => answer(question),
    input: (async function* () {})(),
    interactive: false,
    wantsJson: json,
    quiet: false,
    colour: false,
    columns: 0,
    workingDirectory,
    userId,
  };
  const code = await found.command.run(parseCommandInput(found.command, found.rest), io, new AbortController().signal);
  return { code: code ?? 0, text: lines.join('\n'), values };
}
