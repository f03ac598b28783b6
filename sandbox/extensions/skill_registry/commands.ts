import type { Command, CommandContext } from 'pith';
import { diff, history } from './commands/history.ts';
import { list } from './commands/list.ts';
import { resources } from './commands/resources.ts';
import { show } from './commands/show.ts';
import { validate } from './commands/validate.ts';

/** The commands for which the extension is not activated. What imports much is imported by the command that needs it. */
export default function commands(context: CommandContext): Command[] {
  return [list(context), show(context), resources(context), validate(context), history(context), diff(context)];
}
