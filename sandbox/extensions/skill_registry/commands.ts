import type { Command, CommandContext } from 'pith';
import { install, remove, newCommand, update } from './commands/install.ts';
import { lint } from './commands/lint.ts';
import { list } from './commands/list.ts';
import { needsPerson } from './commands/person-needed.ts';
import { show } from './commands/show.ts';
import { trust, untrust } from './commands/trust.ts';
import { validate } from './commands/validate.ts';

/** The commands for which the extension is not activated. What imports much is imported by the command that needs it. */
export default function commands(context: CommandContext): Command[] {
  return [
    list(context),
    show(context),
    validate(context),
    lint(context),
    newCommand(context),
    needsPerson(install(context)),
    needsPerson(update(context)),
    needsPerson(remove(context)),
    needsPerson(trust(context)),
    untrust(context),
  ];
}
