import type { Command, CommandContext } from 'pith';

export function update(context: CommandContext): Command {
  return {
    path: 'skills update',
    needsTrust: true,
    description: 'Fetch installed skills again, show what has changed and apply it',
    arguments: [{ name: 'id', description: 'these only; without, all that were installed', variadic: true }],
    options: [
      { name: 'source', type: 'string', description: 'only those of project or user' },
      { name: 'force', type: 'boolean', description: 'also those that were changed by hand' },
      { name: 'yes', short: 'y', type: 'boolean', description: 'do not ask, unless the scan finds something serious' },
    ],
    async run({ arguments: { id }, options }, io, signal) {
      const { updateSkills } = await import('../install/update.ts');
      const source = typeof options['source'] === 'string' ? options['source'] : undefined;
      const request = { ids: [id ?? []].flat(), source, force: options['force'] === true, yes: options['yes'] === true };
      return updateSkills(request, context, io, signal);
    },
  };
}
