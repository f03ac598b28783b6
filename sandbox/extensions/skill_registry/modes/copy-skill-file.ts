import path from 'node:path';
import { defineTool, Places, type Tool, type ToolCall, type ToolResult, z } from 'pith';
import { printableLine } from '@pith/plain-text';
import { FileRefused, GuardedPlaces, isCaseOfSkill, isInside, Jail, realPathOf } from '@pith/safe-files';
import { resourceBytes } from '@pith/skill-files';
import { type ToolPorts, withSkill } from '../reading/read-skill.ts';
import { noResource } from '../reading/resource.ts';
import { presentsSkill, skillError, skillResult } from '../reading/results.ts';
import type { Skill } from '../skill.ts';

const MOST_BYTES = 16 * 1024 * 1024;

/** Copies a file of a skill to where the agent may change it. The skill itself is never changed. */
export function copySkillFile(ports: ToolPorts): Tool {
  return defineTool({
    name: 'copy_skill_file',
    description:
      'Copies one file of a skill, such as templates/report.md, into the working directory, where it can be changed. Never replaces a file.',
    input: z.object({
      skill_id: z.string(),
      path: z.string().describe("Relative to the skill's folder."),
      to: z.string().describe('The new file, relative to the sandbox, as the tool `file` names it: "drafts/report.md".'),
    }),
    effect: 'write',
    permission: { authoring: 'admin', safeToShare: false },
    optIn: true,
    present: presentsSkill('copy_skill_file', ['path', 'to'], (id, { path, to }) => `Resource ${path} of ${id} copied to ${to}`),
    execute: ({ skill_id, path, to }, call) => withSkill(ports, skill_id, call, (skill) => copy(ports, skill, { path, to }, call)),
  });
}

async function copy(
  ports: ToolPorts,
  skill: Skill,
  { path: file, to }: { readonly path: string; readonly to: string },
  { turn, signal }: ToolCall,
): Promise<ToolResult> {
  const jail = new Jail(ports.context.use(Places).sandbox);
  try {
    if (printableLine(to) !== to) return refusal('file_unavailable', to);
    const target = jail.namesOf(to);
    const resource = await resourceBytes(skill.realDirectory, file, MOST_BYTES);
    if (resource.kind === 'refused' || isCaseOfSkill(resource.path)) return noResource(skill);
    if (resource.kind === 'too_large')
      return skillError(
        'resource_too_large',
        `'${printableLine(resource.path)}' has ${resource.size} bytes; at most ${MOST_BYTES} are copied.`,
      );
    signal.throwIfAborted();
    if (await isProtected(ports, jail, target)) return refusal('protected', to);
    if ((await jail.stat(target)) !== null) return refusal('target_exists', to);
    (await jail.stage(target, resource.bytes)).commit({ replace: false });
    ports.turns.record(turn, { skillId: skill.id, state: 'resource_read', path: resource.path });
    const [from, where] = [printableLine(resource.path), target.join('/')];
    return skillResult(
      `Copied ${from} of ${printableLine(skill.id)} to ${where} (${resource.bytes.length} bytes). It may be changed there.`,
      skill,
      {
        title: `Resource ${from} of ${printableLine(skill.id)} copied to ${where}`,
        path: resource.path,
        to: where,
      },
    );
  } catch (error) {
    if (!(error instanceof FileRefused)) throw error;
    return error.code in REFUSALS ? refusal(error.code as keyof typeof REFUSALS, to) : skillError(error.code, error.message);
  }
}

/** Also for a folder that skills are read from, wherever the settings have it. */
async function isProtected({ context, registry }: ToolPorts, jail: Jail, target: readonly string[]): Promise<boolean> {
  const data = path.dirname(path.dirname(context.dataDirectory));
  const absolute = path.join(jail.root, ...target);
  const reserved = [data, ...registry.sources.map(({ directory }) => directory)];
  if (reserved.some((folder) => isInside(absolute, folder) || isInside(absolute, realPathOf(folder)))) return true;
  return (await new GuardedPlaces(jail, () => data).guardOf(target)) !== null;
}

const REFUSALS = {
  target_exists: ['file_exists', 'is there already, and nothing is ever replaced; choose another name'],
  protected: [
    'protected',
    'would be part of skills, extensions, agents, state or settings, which are not changed this way; choose another place',
  ],
  file_unavailable: ['file_unavailable', 'is not a usable path here (links, special files and outside paths are never used)'],
} as const;

function refusal(given: keyof typeof REFUSALS, to: string): ToolResult {
  const [code, why] = REFUSALS[given];
  return skillError(code, `'${printableLine(to.slice(0, 200))}' ${why}.`);
}
