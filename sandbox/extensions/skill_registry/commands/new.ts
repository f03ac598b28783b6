import type { Command, CommandContext } from 'pith';

export function newCommand(context: CommandContext): Command {
  return {
    path: 'skills new',
    needsTrust: true,
    description: 'Make a skill to begin with',
    arguments: [{ name: 'id', description: 'lower-case letters, digits and hyphens', required: true }],
    options: [
      { name: 'description', type: 'string', description: 'what it does and when to use it' },
      { name: 'source', type: 'string', default: 'project', description: 'where to: project (sandbox/skills) or user (~/.pith/skills)' },
    ],
    async run({ arguments: args, options }, io, signal) {
      const { newSkill } = await import('../install/new-skill.ts');
      const description = typeof options['description'] === 'string' ? options['description'] : undefined;
      return newSkill({ id: String(args['id']), description, source: String(options['source'] ?? 'project') }, context, io, signal);
    },
  };
}
