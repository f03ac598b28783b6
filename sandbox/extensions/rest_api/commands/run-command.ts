import { type ActingUser, captureCommand, type CapturedCommand } from '@pith/command-line';
import { sha256 } from '@pith/plain-data';
import type { Command, CommandInput } from 'pith';

interface RunOptions {
  readonly by: ActingUser;
  /** Where relative paths in arguments begin. */
  readonly workingDirectory: string;
  /** null: the command asks nothing here. Else digests of what the caller has seen and agrees to. */
  readonly confirmed: readonly string[] | null;
}

/** `question`: it showed something and asked for what nobody has agreed to yet, so nothing was done. */
export interface CommandOutcome extends CapturedCommand {
  readonly question: { readonly text: string; readonly shown: string; readonly serious: readonly string[]; readonly digest: string } | null;
}

/**
 * Runs a command for somebody who is not there. What it asks is answered by what they agreed to: the digest covers the question, all that
 * was shown before it and what the command was given, so that what has changed since is shown again.
 */
export async function runCommand(
  command: Command,
  input: CommandInput,
  { by, workingDirectory, confirmed }: RunOptions,
  signal: AbortSignal,
): Promise<CommandOutcome> {
  let question: CommandOutcome['question'] = null;
  const agreed: NonNullable<Parameters<typeof captureCommand>[2]['answer']> = ({ question: text, shown, serious }) => {
    if (question !== null) return null;
    const digest = sha256(JSON.stringify([command.path, input, shown, text]));
    if (confirmed?.includes(digest) === true) return 'yes';
    question = { text, shown, serious, digest };
    return null;
  };
  const answer = confirmed === null ? {} : { answer: agreed };
  const source = { getCommands: () => [command] };
  const done = await captureCommand(source, command.path, { ...input, ...by, workingDirectory, ...answer }, signal);
  return { ...done, question };
}
