import { defineTool, type Tool, z } from 'pith';
import { listResult, MOST_FOUND } from './reading/list.ts';
import { copySkillFile } from './modes/copy-skill-file.ts';
import { runSkillTool } from './modes/run-skill.ts';
import { skillTool } from './modes/skill-tool.ts';
import { readSkillResource } from './reading/resource.ts';
import { readSkill, type ToolPorts, withSkill } from './reading/read-skill.ts';
import { presenter, presentsSkill } from './reading/results.ts';

/** The three read tools, and behind them those that are given by name only. What an agent may not see does not exist for it. */
export function createTools(ports: ToolPorts): readonly Tool[] {
  return [listSkills(ports), readOne(ports), readFile(ports), skillTool(ports), runSkillTool(ports), copySkillFile(ports)];
}

function listSkills(ports: ToolPorts): Tool {
  return defineTool({
    name: 'list_skills',
    description:
      'Finds skills for a request, best first; without a query lists all by id. A skill has instructions and knowledge for a kind of task.',
    input: z.object({
      query: z.string().default('').describe('What to do, in a few words; empty lists all.'),
      limit: z.int().min(1).max(50).default(8),
      offset: z.int().min(0).default(0),
    }),
    effect: 'read',
    permission: { authoring: 'anyone', safeToShare: true },
    present: presenter('list_skills', ({ count, total, more }) =>
      typeof count === 'number' && typeof total === 'number'
        ? total === 0
          ? 'no skills found'
          : `${count} of ${more === true ? 'the best ' : ''}${total} skills listed`
        : null,
    ),
    async execute(input, call) {
      const snapshot = await ports.turns.snapshotOf(call.turn);
      const scope = ports.cache.scope(snapshot, call.turn.agent);
      if (input.query.trim() === '') return listResult(scope, input, null);
      const among = (id: string): boolean => scope.readable.has(id);
      const options = { k: MOST_FOUND, agentId: call.turn.agent.id, among, weak: true, waitMs: WAIT_MS };
      const found = await ports.search.rank(snapshot, input.query, options);
      if (input.offset === 0) ports.turns.searched(call.turn, input.query, found);
      return listResult(scope, input, found);
    },
  });
}

/** A model that searches waits so long for bodies that are being read. */
const WAIT_MS = 2000;

function readOne(ports: ToolPorts): Tool {
  return defineTool({
    name: 'read_skill',
    description: 'Loads the full instructions of a skill. Read a skill before a task that it fits, then follow it.',
    input: z.object({
      skill_id: z.string().describe('The id as the catalog or list_skills shows it.'),
      part: z.int().min(1).default(1).describe('Long skills come in numbered parts.'),
    }),
    effect: 'read',
    permission: { authoring: 'anyone', safeToShare: true },
    present: presentsSkill('read_skill', [], (id) => `Skill ${id} loaded`),
    execute: ({ skill_id, part }, call) => withSkill(ports, skill_id, call, (skill) => readSkill(ports, skill, part, call)),
  });
}

function readFile(ports: ToolPorts): Tool {
  return defineTool({
    name: 'read_skill_resource',
    description: 'Reads one file of a skill, such as references/guide.md. Binary files give their type, size and digest only.',
    input: z.object({
      skill_id: z.string(),
      path: z.string().describe("Relative to the skill's folder; a leading references/ may be left out."),
      part: z.int().min(1).default(1).describe('Long files come in numbered parts.'),
    }),
    effect: 'read',
    permission: { authoring: 'anyone', safeToShare: true },
    present: presentsSkill('read_skill_resource', ['path'], (id, { path }) => `Resource ${path} of ${id} read`),
    execute: ({ skill_id, path, part }, call) =>
      withSkill(ports, skill_id, call, (skill) => readSkillResource(ports, skill, { path, part }, call)),
  });
}
