import type { Command, CommandContext } from 'pith';
import { newAgent, newExtension } from './commands/new.ts';

/** The commands that need no kernel. */
export default function commands(context: Pick<CommandContext, 'sandbox'>): Command[] {
  return [newExtension(context.sandbox), newAgent(context.sandbox)];
}
