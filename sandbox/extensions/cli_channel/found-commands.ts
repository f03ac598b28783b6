import { CommandProvider, messageOf, type Command } from 'pith';
import type { ChatContext } from './conversation.ts';

/** The commands that chat can offer now, sorted by path. A provider that fails is left out and logged. */
export async function findCommands(context: ChatContext): Promise<readonly Command[]> {
  const lists = await Promise.all(
    context.find(CommandProvider).map(async (provider) => {
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
