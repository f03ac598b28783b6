import type { Command, CommandContext } from 'pith';
import { newAgent, newExtension } from './commands/new.ts';

/** The commands for which the extension is not activated. */
export default function commands(context: Pick<CommandContext, 'use'>): Command[] {
  return [newExtension(context), newAgent(context)];
}
