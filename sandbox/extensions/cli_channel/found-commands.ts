import { CommandProvider, messageOf, type Command, type Remote } from 'pith';
import type { ChatContext } from './conversation.ts';

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
