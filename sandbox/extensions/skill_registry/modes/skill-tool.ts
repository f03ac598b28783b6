import { defineTool, type Tool, type ToolCall, type ToolResult, z } from 'pith';
import { printableLine } from '@pith/plain-text';
import { clean, listResources, type ResourceList } from '@pith/skill-files';
import type { SkillLoad } from '../ledger/skill-use.ts';
import { nameOf } from '../reading/envelope.ts';
import { type ToolPorts, withSkill } from '../reading/read-skill.ts';
import { presentsSkill, skillResult } from '../reading/results.ts';
import { lateInput } from '../late-input.ts';
import type { Skill } from '../skill.ts';

/** How an agent that cannot list skills finds one. */
const NAMES_IN_TOOL = 'The description of this tool lists them.';

/** The one tool of the mode `single_tool`; each agent is told of its own skills by it. */
export function skillTool(ports: ToolPorts): Tool {
  return defineTool({
    name: 'skill',
    description: 'Loads a skill, by its name only: instructions and knowledge for a kind of task. Follow them once they are loaded.',
    input: lateInput(() => z.object({ skill_name: z.string().describe('The id of the skill.') })),
    effect: 'read',
    optIn: true,
    present: presentsSkill('skill', [], (id) => `Skill ${id} loaded`),
    execute: ({ skill_name }, call) => withSkill(ports, skill_name, call, (skill) => activate(ports, skill, call), NAMES_IN_TOOL),
  });
}

async function activate(ports: ToolPorts, skill: Skill, call: ToolCall): Promise<ToolResult> {
  const { body, sha256, stale } = await ports.registry.readBody(skill);
  const load: SkillLoad = { skillId: skill.id, state: 'loaded', how: 'skill', sha256, callKey: call.idempotencyKey };
  const title = `Skill ${skill.id} loaded`;
  if (ports.ledger.activate(call.turn, load)) {
    // A turn is one run: the next one begins with none active.
    ports.ledger.record(call.turn, { ...load, again: true });
    return skillResult(`Skill \`${clean(skill.id)}\` is already active: follow its instructions above.`, skill, { title });
  }
  const resources = await listResources(skill.realDirectory);
  call.signal.throwIfAborted();
  ports.ledger.record(call.turn, load);
  const output = [
    `# Skill: ${clean(skill.name)}`,
    '',
    `Directory: ${printableLine(skill.directory)}`,
    ...filesOf(resources),
    ...(stale === undefined ? [] : [`Note: ${stale}`]),
    '',
    '## Instructions',
    '',
    body,
  ].join('\n');
  return skillResult(output, skill, { title, retain: { key: skill.id, digest: sha256 } });
}

function filesOf({ entries, total, more }: ResourceList): readonly string[] {
  if (total === 0) return [];
  const left = total - entries.length;
  const rest = left > 0 || more ? `, and ${left}${more ? ' or more' : ''} more` : '';
  return [`Files: ${entries.map(({ path }) => nameOf(path)).join(', ')}${rest}`];
}
