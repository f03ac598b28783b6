import type { Command, CommandContext, CommandInput } from 'pith';

export function install(context: CommandContext): Command {
  return {
    path: 'skills install',
    needsTrust: true,
    description: 'Install skills from a folder, a git repository or a zip archive, after showing what is in them',
    arguments: [
      { name: 'from', description: 'a folder, the address of a git repository, or a zip archive or its address', required: true },
    ],
    options: [
      { name: 'ref', type: 'string', description: 'branch, tag or commit of a git repository' },
      { name: 'source', type: 'string', default: 'project', description: 'where to: project (sandbox/skills) or user (~/.pith/skills)' },
      { name: 'skill', type: 'string', multiple: true, description: 'this one of several, by id or folder' },
      { name: 'all', type: 'boolean', description: 'all that are found' },
      { name: 'force', type: 'boolean', description: 'replace what is installed under the same id' },
      { name: 'yes', short: 'y', type: 'boolean', description: 'do not ask, unless the scan finds something serious' },
    ],
    async run(input, io, signal) {
      const { installSkills } = await import('../install/install.ts');
      const request = {
        from: String(input.arguments['from']),
        ref: textOf(input, 'ref'),
        source: textOf(input, 'source') ?? 'project',
        skills: [input.options['skill'] ?? []].flat().map(String),
        all: input.options['all'] === true,
        force: input.options['force'] === true,
        yes: input.options['yes'] === true,
      };
      return installSkills(request, context, io, signal);
    },
  };
}

function textOf({ options }: CommandInput, name: string): string | undefined {
  const value = options[name];
  return typeof value === 'string' ? value : undefined;
}
