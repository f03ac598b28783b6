import { StringDecoder } from 'node:string_decoder';
import { stripVTControlCharacters } from 'node:util';
import { messageOf, type Clock } from 'pith';
import { printable, printableLine } from '@pith/plain-text';
import { runProgram } from '@pith/supervised-process';
import type { Attachment } from './conversation.ts';
import { unfinishedEnd } from './terminal.ts';

interface OwnCommandPlace {
  readonly folder: string;
  readonly clock: Pick<Clock, 'after'>;
  /** Shows output. */
  readonly write: (text: string) => void;
}

/** What a person ran, for the model. */
interface OwnCommand {
  readonly attachment: Attachment;
  /** How it ended, for the person. */
  readonly ending: string;
}

const MOST_SHOWN = 256 * 1024;
const MOST_BYTES = 64 * 1024 * 1024;
const MOST_MS = 24 * 60 * 60 * 1000;
/** Of the output the model is sent the beginning and the end. */
const MOST_FIRST = 8 * 1024;
const MOST_LAST = 24 * 1024;

/** The command of `!command`, '' of `!` alone; null: the line is a message. An image in Markdown is one. */
export function ownCommandOf(line: string): string | null {
  return /^!\s*((?:[^\s![][^]*)?)$/u.exec(line)?.[1]?.trimEnd() ?? null;
}

/** What to know of `!` alone, and of a command that changes only its own shell; null: it is one to run. */
export function whyNotRun(command: string, folder: string): string | null {
  if (command === '')
    return 'Write a command after it, such as !git status: it runs in your shell, and its output goes with your next message';
  if (!/^(?:(?:cd|pushd|popd)(?=\s|$)|(?:export|alias)\s)[^;&|\n]*$/u.test(command)) return null;
  return `Not run: each ! command runs in a separate shell, in ${folder}, so this one would change nothing; write: !${command} && the next command`;
}

/**
 * Runs a command of the person in their shell, with their environment and without a sandbox, as in another terminal. `signal` ends it with
 * all that it started. Never rejects.
 */
export async function runOwnCommand(command: string, { folder, clock, write }: OwnCommandPlace, signal: AbortSignal): Promise<OwnCommand> {
  const decoder = new StringDecoder('utf8');
  let output = '';
  let shown = 0;
  let held = '';
  const take = (bytes: string, isLast = false) => {
    const whole = held + bytes;
    held = isLast ? '' : unfinishedEnd(whole);
    const text = printable(stripVTControlCharacters(whole.slice(0, whole.length - held.length)));
    output += text;
    const rest = text.slice(0, Math.max(0, MOST_SHOWN - shown));
    if (rest !== '') write(rest);
    if (shown < MOST_SHOWN && shown + text.length >= MOST_SHOWN) write('\n… the rest is not shown\n');
    shown += text.length;
    if (output.length > 4 * MOST_LAST + MOST_FIRST) output = shortened(output);
  };
  const argv = ['sh', '-c', 'exec "${SHELL:-sh}" -c "$1" 2>&1', 'sh', command];
  const run = { argv, cwd: folder, mostBytes: MOST_BYTES, mostMs: MOST_MS, clock, observe: (bytes: Buffer) => take(decoder.write(bytes)) };
  const ending = await runProgram(run, signal).then(
    ({ code, signal: by, passed }) =>
      passed !== null ? 'ended: too much output' : code === null ? `ended by ${by}` : code === 0 ? 'done' : `exit code ${code}`,
    (error: unknown) => (signal.aborted ? 'stopped' : messageOf(error)),
  );
  take(decoder.end(), true);
  if (output !== '' && !output.endsWith('\n')) write('\n');
  const text = `The person ran this command themselves, in their own shell, and it was not a tool call: ${ending}\n$ ${command}\n${shortened(output)}`;
  return { attachment: { name: `run by the person: ${printableLine(command, 80)}`, text }, ending };
}

function shortened(output: string): string {
  const left = output.length - MOST_FIRST - MOST_LAST;
  return left <= 0 ? output : `${output.slice(0, MOST_FIRST)}\n[… left out here …]\n${output.slice(-MOST_LAST)}`;
}
