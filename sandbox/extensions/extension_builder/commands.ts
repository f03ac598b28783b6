import { Places, type Command, type CommandContext } from 'pith';
import { newAgent, newExtension } from './commands/new.ts';

/** The commands for which the extension is not activated. */
export default function commands(context: Pick<CommandContext, 'use'>): Command[] {
  const places = context.use(Places);
  return [newExtension(places), newAgent(places)];
}
