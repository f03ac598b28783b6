import { type Command, type CommandInput, type CommandIO, PithError } from 'pith';
import { printable, printableLine } from '@pith/plain-text';
import { renderTable, textColumns, widthOf } from '@pith/command-line';
import { listResources, readResource } from '@pith/skill-files';
import type { Skill } from '../skill.ts';
import type { WithSkills } from './open-registry.ts';
import { wantedSkill } from './wanted.ts';

export function resources(withSkills: WithSkills): Command {
  return {
    path: 'skills resources',
    description: 'List the files beside a SKILL.md, or print one of them as an agent reads it',
    arguments: [
      { name: 'id', description: 'id, display name or source/id', required: true },
      { name: 'path', description: 'a file of the skill' },
    ],
    options: [{ name: 'part', type: 'number', description: 'the part of a long text', default: 1 }],
    run: (input, io, signal) =>
      withSkills(io, async (registry, snapshot) => {
        const skill = await wantedSkill(registry, snapshot, String(input.arguments['id']));
        const { path } = input.arguments;
        await (path === undefined ? printList(skill, io) : printOne(skill, { path: String(path), part: partOf(input) }, io, signal));
      }),
  };
}

function partOf({ options: { part = 1 } }: CommandInput): number {
  if (typeof part === 'number' && Number.isInteger(part) && part > 0) return part;
  throw new PithError('usage', `--part is ${String(part)}, which is not a part`, { cure: 'write 1, 2 and so on' });
}

async function printList({ id, realDirectory }: Skill, io: CommandIO): Promise<void> {
  const { entries, total, more } = await listResources(realDirectory);
  io.json({ id, files: entries.map((entry) => ({ ...entry })), total, more });
  if (entries.length === 0) return io.print('There are no files beside its SKILL.md.');
  const rows = entries.map(({ path, size }) => [printableLine(path), String(size)]);
  io.print(renderTable(rows, textColumns(['PATH', 'BYTES']), widthOf(io)));
  if (total > entries.length || more) io.print(`These are the first ${entries.length} of ${total}${more ? ' or more' : ''}.`);
}

async function printOne(
  { id, realDirectory }: Skill,
  { path, part }: { readonly path: string; readonly part: number },
  io: CommandIO,
  signal: AbortSignal,
): Promise<void> {
  const resource = await readResource(realDirectory, path, { part, signal });
  if (resource.kind === 'refused')
    throw new PithError('not_found', `that is not a readable resource of skill '${printableLine(id)}'`, {
      cure: `see: pith skills resources ${printableLine(id)}`,
    });
  io.json({ id, ...resource });
  if (resource.kind === 'binary')
    return io.print(`${printableLine(resource.path)}: ${resource.type}, ${resource.size} bytes, sha256 ${resource.sha256}`);
  io.print(printable(resource.text));
  if (resource.parts > 1 && !io.quiet) io.error(`pith: this is part ${resource.part} of ${resource.parts}; see the others with --part`);
}
