import { type Command, type CommandInput, type CommandIO, PithError } from 'pith';
import { needsPerson } from '@pith/command-line';
import type { InstallContext } from './install-context.ts';

export function installCommands(context: InstallContext): readonly Command[] {
  const needed = (message: string, options: { readonly cure: string }) => new PithError('confirmation_needed', message, options);
  const asking = [install(context), update(context), remove(context)].map((command) => needsPerson<CommandIO, Command>(command, needed));
  return [newCommand(context), ...asking];
}

function install(context: InstallContext): Command {
  return {
    path: 'skills install',
    needsTrust: true,
    description: 'Install skills from a folder, a git repository or a zip archive, after showing what is in them',
    arguments: [
      {
        name: 'from',
        description: 'a folder, owner/repo of GitHub, the address of a git repository (also with #ref), or a zip archive or its address',
        required: true,
      },
    ],
    options: [
      { name: 'ref', type: 'string', description: 'branch, tag or commit of a git repository' },
      { name: 'source', type: 'string', default: 'project', description: 'where to: project (sandbox/skills) or user (~/.pith/skills)' },
      { name: 'skill', type: 'string', multiple: true, description: 'this one of several, by id or folder' },
      { name: 'plugin', type: 'string', multiple: true, description: 'what this plugin of a marketplace brings' },
      { name: 'all', type: 'boolean', description: 'all that are found; what cannot be installed says why' },
      { name: 'force', type: 'boolean', description: 'replace what is installed under the same id' },
      { name: 'yes', short: 'y', type: 'boolean', description: 'do not ask, unless the scan finds something serious' },
    ],
    async run(input, io, signal) {
      const { installSkills } = await import('./install/install.ts');
      const request = {
        from: String(input.arguments['from']),
        ref: textOf(input, 'ref'),
        source: textOf(input, 'source') ?? 'project',
        skills: [input.options['skill'] ?? []].flat().map(String),
        plugins: [input.options['plugin'] ?? []].flat().map(String),
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

function remove(context: InstallContext): Command {
  return {
    path: 'skills remove',
    needsTrust: true,
    description: 'Remove a skill, or all of a plugin, from sandbox/skills or ~/.pith/skills',
    arguments: [{ name: 'id', description: 'id of the skill, or name of the plugin', required: true }],
    options: [{ name: 'yes', short: 'y', type: 'boolean', description: 'do not ask' }],
    async run(input, io, signal) {
      const { removeSkills } = await import('./install/remove.ts');
      return removeSkills({ id: String(input.arguments['id']), yes: input.options['yes'] === true }, context, io, signal);
    },
  };
}

function newCommand(context: InstallContext): Command {
  return {
    path: 'skills new',
    needsTrust: true,
    description: 'Create a skill from a template',
    arguments: [{ name: 'id', description: 'lower-case letters, digits and hyphens', required: true }],
    options: [
      { name: 'description', type: 'string', description: 'what it does and when to use it' },
      { name: 'source', type: 'string', default: 'project', description: 'where to: project (sandbox/skills) or user (~/.pith/skills)' },
    ],
    async run({ arguments: args, options }, io, signal) {
      const { newSkill } = await import('./install/new-skill.ts');
      const description = typeof options['description'] === 'string' ? options['description'] : undefined;
      return newSkill({ id: String(args['id']), description, source: String(options['source'] ?? 'project') }, context, io, signal);
    },
  };
}

function update(context: InstallContext): Command {
  return {
    path: 'skills update',
    needsTrust: true,
    description: 'Fetch installed skills again, show what has changed and apply it',
    arguments: [
      { name: 'id', description: 'only these skills, or the skills of these plugins (default: all that were installed)', variadic: true },
    ],
    options: [
      { name: 'source', type: 'string', description: 'only those of project or user' },
      { name: 'force', type: 'boolean', description: 'also those that were changed by hand' },
      { name: 'yes', short: 'y', type: 'boolean', description: 'do not ask, unless the scan finds something serious' },
    ],
    async run({ arguments: { id }, options }, io, signal) {
      const { updateSkills } = await import('./install/update.ts');
      const source = typeof options['source'] === 'string' ? options['source'] : undefined;
      const request = { ids: [id ?? []].flat(), source, force: options['force'] === true, yes: options['yes'] === true };
      return updateSkills(request, context, io, signal);
    },
  };
}
