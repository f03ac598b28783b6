import { createHash } from 'node:crypto';
import type { Command, CommandInput, CommandIO, JsonValue } from 'pith';

interface Asked {
  readonly userId: string;
  /** Where relative paths in arguments begin. */
  readonly workingDirectory: string;
  /** null: the command asks nothing here. Else digests of what the caller has seen and agrees to. */
  readonly confirmed: readonly string[] | null;
}

/** `question`: it showed `text` and asked for what nobody has agreed to yet, so nothing was done. */
export interface CommandOutcome {
  readonly exitCode: number;
  readonly values: readonly JsonValue[];
  readonly text: string;
  readonly question: { readonly text: string; readonly shown: string; readonly digest: string } | null;
}

/**
 * Runs a command for somebody who is not there. What it asks is answered by what they agreed to: the digest covers the question and all
 * that was shown before it, so that what has changed since is shown again.
 */
export async function runCommand(command: Command, input: CommandInput, asked: Asked, signal: AbortSignal): Promise<CommandOutcome> {
  const values: JsonValue[] = [];
  const lines: string[] = [];
  let question: CommandOutcome['question'] = null;
  const { confirmed, userId, workingDirectory } = asked;
  const isAsked = confirmed !== null;
  const io: CommandIO = {
    print: (text) => void lines.push(text),
    error: (text) => void lines.push(text),
    json: (value) => void values.push(value),
    ask: async (text) => {
      if (question !== null || !isAsked) return null;
      const shown = lines.join('\n');
      const digest = createHash('sha256')
        .update(JSON.stringify([command.path, input.arguments, shown, text]))
        .digest('hex');
      if (confirmed.includes(digest)) return 'yes';
      question = { text, shown, digest };
      return null;
    },
    input: { async *[Symbol.asyncIterator](): AsyncGenerator<string> {} },
    interactive: isAsked,
    wantsJson: !isAsked,
    quiet: !isAsked,
    colour: false,
    columns: 100,
    workingDirectory,
    userId,
  };
  const exitCode = (await command.run(input, io, signal)) ?? 0;
  return { exitCode, values, text: lines.join('\n'), question };
}
