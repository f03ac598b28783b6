import type { Command, CommandContext } from 'pith';
import { diff, history } from './commands/history.ts';
import { count, list } from './commands/list.ts';
import { withRegistry, type WithSkills } from './commands/open-registry.ts';
import { resources } from './commands/resources.ts';
import { show } from './commands/show.ts';
import { shownTo } from './drafts/shown-to.ts';
import { validate } from './commands/validate.ts';

/** The commands for which the extension is not activated. What imports much is imported by the command that needs it. */
export default function commands(context: CommandContext): Command[] {
  return [
    ...shownBy(context, (by, run) => withRegistry(context, (registry, found) => run(registry, shownTo(by, registry, found)))),
    validate(context),
  ];
}

/** The same, of a registry that runs already. */
export function shownBy(context: CommandContext, withSkills: WithSkills): Command[] {
  return [
    list(context, withSkills),
    count(context, withSkills),
    show(withSkills),
    resources(withSkills),
    history(withSkills),
    diff(withSkills),
  ];
}
