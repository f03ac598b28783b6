import { PithError, type Command } from 'pith';
import { printableLine } from '@pith/plain-text';
import type { Toolsets } from './toolsets/toolsets.ts';

/** `pith skills allow`: a person agrees that the toolset of a skill, as its bytes are now, runs where nothing confines it. */
export function allow(toolsets: Toolsets): Command {
  return {
    path: 'skills allow',
    needsTrust: true,
    description: 'Allow the tools of a skill to run without a sandbox',
    arguments: [{ name: 'skill', description: 'The skill', required: true }],
    options: [{ name: 'yes', type: 'boolean', description: 'Do not ask; answer yes' }],
    async run({ arguments: { skill }, options }, io) {
      const id = String(skill);
      await toolsets.all();
      const waiting = toolsets.waiting.get(id);
      if (waiting === undefined) {
        io.json({ ok: true, id, granted: [] });
        if (!io.quiet) io.print(`No toolset of skill '${printableLine(id)}' waits for approval`);
        return 0;
      }
      io.print(printableLine(waiting.diagnostic.message));
      // Piped text agrees to nothing; a person who types --yes on the command line does.
      const saidYes = options['yes'] === true && (io.session === undefined || io.interactive);
      if (!saidYes && !io.interactive)
        throw new PithError('usage', 'Pith cannot ask here, because this is not a terminal', {
          cure: `read the line above, then say: pith skills allow ${printableLine(id)} --yes`,
        });
      if (!saidYes && (await io.ask('Let this code run as you?', { choices: ['yes', 'no'] })) !== 'yes') return 1;
      await toolsets.agree(waiting);
      io.json({ ok: true, id, granted: [waiting.digest] });
      if (!io.quiet) io.print(`The toolset of ${printableLine(id)} may run until its code changes`);
      return 0;
    },
  };
}
