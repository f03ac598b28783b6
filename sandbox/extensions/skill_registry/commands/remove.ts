import type { Command, CommandContext } from 'pith';

export function remove(context: CommandContext): Command {
  return {
    path: 'skills remove',
    needsTrust: true,
    description: 'Remove a skill from sandbox/skills or ~/.pith/skills',
    arguments: [{ name: 'id', description: 'id of the skill', required: true }],
    options: [{ name: 'yes', short: 'y', type: 'boolean', description: 'do not ask' }],
    async run(input, io, signal) {
      const { removeSkill } = await import('../install/remove.ts');
      return removeSkill({ id: String(input.arguments['id']), yes: input.options['yes'] === true }, context, io, signal);
    },
  };
}
