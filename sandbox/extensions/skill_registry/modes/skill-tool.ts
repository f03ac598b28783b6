import { defineTool, isToolResult, type Tool, type ToolCall, type ToolResult, z } from 'pith';
import { printableLine } from '@pith/plain-text';
import { clean, listResources, type ResourceList } from '@pith/skill-files';
import { digestOf } from '../turns.ts';
import { nameOf, unlistedFiles } from '../reading/envelope.ts';
import { loadPart, type ToolPorts, withSkill, titleOf } from '../reading/read-skill.ts';
import { presentsSkill, skillResult } from '../reading/results.ts';
import type { Skill } from '../skill.ts';

/** How an agent that cannot list skills finds one. */
const NAMES_IN_TOOL = 'The description of this tool lists them.';

/** The one tool of the mode `single_tool`; its description lists each agent's own skills. */
export function skillTool(ports: ToolPorts): Tool {
  return defineTool({
    name: 'skill',
    description: 'Loads a skill, by its name only: instructions and knowledge for a kind of task. Follow them once they are loaded.',
    input: z.object({ skill_name: z.string().describe('The id of the skill.'), part: z.int().min(1).default(1) }),
    effect: 'read',
    permission: { authoring: 'anyone', safeToShare: true },
    optIn: true,
    present: presentsSkill('skill', [], (id) => `Skill ${id} loaded`),
    execute: ({ skill_name, part }, call) =>
      withSkill(ports, { name: skill_name, search: NAMES_IN_TOOL }, call, (skill) => activate(ports, skill, part, call)),
  });
}

async function activate(ports: ToolPorts, skill: Skill, part: number, call: ToolCall): Promise<ToolResult> {
  const loaded = await loadPart(ports, skill, part, 'skill');
  if (isToolResult(loaded)) return loaded;
  const { load, text, parts, stale } = loaded;
  const isWhole = parts === 1;
  if (ports.turns.activate(call.turn, load)) {
    // A turn is one run: the next one begins with none active.
    ports.turns.record(call.turn, { ...load, again: true });
    const which = isWhole ? '' : ` part ${part}/${parts}`;
    return skillResult(`Skill \`${clean(skill.id)}\`${which} is already active: follow its instructions above.`, skill, {
      title: titleOf(skill),
    });
  }
  const resources = await listResources(skill.realDirectory);
  call.signal.throwIfAborted();
  ports.turns.record(call.turn, load);
  const output = [
    `# Skill: ${clean(skill.name)}`,
    '',
    `Directory: ${printableLine(skill.directory)}`,
    ...fileLine(resources),
    ...(stale === undefined ? [] : [`Note: ${stale}`]),
    '',
    isWhole ? '## Instructions' : `## Instructions, part ${part}/${parts}`,
    '',
    text,
    ...(part < parts ? ['', `The next part is skill(skill_name="${clean(skill.id)}", part=${part + 1}).`] : []),
  ].join('\n');
  return skillResult(output, skill, { title: titleOf(skill, text), retain: { key: skill.id, digest: digestOf(load, call.turn) } });
}

function fileLine(resources: ResourceList): readonly string[] {
  if (resources.total === 0) return [];
  const unlisted = unlistedFiles(resources);
  const end = unlisted === null ? '' : `, and ${unlisted}`;
  return [`Files: ${resources.entries.map(({ path }) => nameOf(path)).join(', ')}${end}`];
}
