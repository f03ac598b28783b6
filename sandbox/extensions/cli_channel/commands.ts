import { isPlainMap } from '@pith/plain-data';
import { type Command, type CommandIO, type JsonValue, CommandProvider, messageOf, type Remote } from 'pith';
import { captureCommand, matchCommand, ofKernel, parseCommandInput } from '@pith/command-line';
import type { ChatContext } from './conversation.ts';
import { stripVTControlCharacters } from 'node:util';

/** Runs a command for what it prints as JSON; null when there is no such command. Rejects as the command does. */
export async function query(commands: readonly Command[], words: readonly string[], signal: AbortSignal): Promise<JsonValue> {
  const found = matchCommand(commands, words);
  if (found === null) return null;
  const { command, rest } = found;
  const { values } = await captureCommand({ getCommands: () => [command] }, command.path, parseCommandInput(command, rest), signal);
  return values.at(-1) ?? null;
}

/** Runs a command by its words, where there is one. */
export async function runCommand(
  commands: readonly Command[],
  words: readonly string[],
  io: CommandIO,
  signal: AbortSignal,
): Promise<void> {
  const found = matchCommand(commands, words);
  if (found !== null) await found.command.run(parseCommandInput(found.command, found.rest), io, signal);
}

/** Asks until `of` takes the answer, or has said why not; null: the person chooses nothing. */
export async function pick<T>(io: CommandIO, question: string, of: (typed: string) => Promise<T | null>): Promise<T | null> {
  for (;;) {
    const typed = (await io.ask(question))?.trim() ?? '';
    if (typed === '') return null;
    const found = await of(typed);
    if (found !== null) return found;
  }
}

/** What tools ask in a conversation and nobody has answered, oldest first. */
export async function openQuestions(commands: readonly Command[], threadId: string, signal: AbortSignal) {
  return list(await query(commands, ['approvals'], signal))
    .map(fields)
    .filter(({ thread }) => thread === threadId);
}

/** The answer's fields; empty when it is no object. */
export function fields(value: JsonValue): { readonly [key: string]: JsonValue | undefined } {
  return isPlainMap(value) ? (value as { readonly [key: string]: JsonValue | undefined }) : {};
}

export function list(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]) : [];
}

export function text(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** The commands that chat can offer now, sorted by path: loads each extension that has some. A provider that fails is left out and logged. */
export function findCommands(context: ChatContext): Promise<readonly Command[]> {
  return commandsOf(context, context.find(CommandProvider));
}

/** Those by which a conversation is opened: of agents, threads and settings. Loads no extension. */
export function findKernelCommands(context: ChatContext): Promise<readonly Command[]> {
  return commandsOf(context, ofKernel(context.find(CommandProvider)));
}

async function commandsOf(context: ChatContext, providers: readonly Remote<CommandProvider>[]): Promise<readonly Command[]> {
  const lists = await Promise.all(
    providers.map(async (provider) => {
      try {
        return await provider.getCommands();
      } catch (error) {
        context.logger.warn('commands left out', { extension: provider.extensionId, reason: messageOf(error) });
        return [];
      }
    }),
  );
  const byPath = new Map<string, Command>();
  for (const command of lists.flat()) if (command.slash !== false && !byPath.has(command.path)) byPath.set(command.path, command);
  return [...byPath.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}

/**
 * `text` with the commands that it names (`see: pith doctor`) as they are typed in a conversation (`see: /doctor`). One that is to be
 * typed elsewhere (`type on the command line: pith doctor`) stays.
 */
export function typedHints(text: string, paths: readonly string[]): string {
  return text.replace(/(?<![\w/-]|on the command line: )(?:npx |node \S*\/)?pith ([a-z]+(?: [a-z]+)*)/gu, (whole, words: string) =>
    paths.some((path) => words === path || words.startsWith(`${path} `)) ? `/${words}` : whole,
  );
}

/** The same for what commands print, which may quote others: only after words that lead to a command, and never behind the bar of a quotation. */
export function printedHints(text: string, paths: readonly string[]): string {
  return text
    .split('\n')
    .map((line) => (/^\s*│/u.test(stripVTControlCharacters(line)) ? line : line.replaceAll(LED_TO, (hint) => typedHints(hint, paths))))
    .join('\n');
}

const LED_TO = /(?<=: |[Ss]ee |\bor |\banswer )(?<!on the command line: )pith [a-z]+(?: [a-z]+)*/gu;

/** `pith: <what>: <why>; <cure>` of anything thrown. */
export function errorLine(error: unknown): string {
  const cure = error instanceof Error && 'cure' in error && typeof error.cure === 'string' ? `; ${error.cure}` : '';
  return `pith: ${messageOf(error)}${cure}`;
}
