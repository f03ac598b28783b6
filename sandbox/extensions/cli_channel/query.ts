import { type Command, type JsonValue, CommandProvider, messageOf, type Remote } from 'pith';
import { captureCommand, matchCommand, parseCommandInput } from '@pith/command-line';
import type { ChatContext } from './conversation.ts';

/** Runs a command for what it prints as JSON; null when there is no such command. Rejects as the command does. */
export async function query(commands: readonly Command[], words: readonly string[], signal: AbortSignal): Promise<JsonValue> {
  const found = matchCommand(commands, words);
  if (found === null) return null;
  const { command, rest } = found;
  const { values } = await captureCommand({ getCommands: () => [command] }, command.path, parseCommandInput(command, rest), signal);
  return values.at(-1) ?? null;
}

/** The answer's fields; empty when it is no object. */
export function fields(value: JsonValue): { readonly [key: string]: JsonValue | undefined } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as { readonly [key: string]: JsonValue | undefined })
    : {};
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
  return commandsOf(
    context,
    context.find(CommandProvider).filter(({ extensionId }) => extensionId === 'kernel'),
  );
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
