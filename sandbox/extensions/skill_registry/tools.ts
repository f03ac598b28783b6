import { defineTool, isToolResult, z, type AgentSpec, type Tool, type ToolCall, type ToolResult } from 'pith';
import type { SkillScope } from './catalog/scope.ts';
import { hasOnly, lateInput, wholeNumber } from './late-input.ts';
import { listResult, MOST_FOUND } from './reading/list.ts';
import { copySkillFile } from './copying/copy-skill-file.ts';
import type { WorkingDirectory } from './copying/working-directory.ts';
import { runSkillTool, type RunSkillPorts } from './modes/run-skill.ts';
import { skillTool } from './modes/skill-tool.ts';
import { readSkillResource } from './reading/read-resource.ts';
import { readSkill, requireSkill, type ReadSkillPorts } from './reading/read-skill.ts';
import { presenter, presentsResource, presentsSkill } from './reading/result-lines.ts';
import { noLongerTrusted } from './reading/results.ts';
import type { SkillSearch } from './search/skill-search.ts';
import type { Skill, Snapshot } from './skill.ts';

/** How an agent that cannot list skills finds one. */
const NAMES_IN_TOOL = 'The description of this tool lists them.';

export interface ToolPorts extends ReadSkillPorts {
  /** The snapshot that the turn began with. */
  pinned(turn: ToolCall['turn']): Promise<Snapshot>;
  scope(snapshot: Snapshot, agent: AgentSpec): SkillScope;
  isStillTrusted(skill: Skill): Promise<boolean>;
  readonly agents: RunSkillPorts['agents'];
  readonly runTool: string;
  /** Names of the tools that a skill's toolset brought when it was last loaded. */
  ownTools(skill: Skill): readonly string[];
  readonly working: WorkingDirectory;
  readonly search: Pick<SkillSearch, 'rank'>;
}

/** The three read tools, and behind them those that are given by name only. What an agent may not see does not exist for it. */
export function createTools(ports: ToolPorts): readonly Tool[] {
  const by = (search?: string) => ({
    ...ports,
    withSkill: (name: string, call: ToolCall, run: Run) => withSkill(ports, name, call, run, search),
  });
  return [listSkills(ports), readOne(ports), readFile(ports), skillTool(by(NAMES_IN_TOOL)), runSkillTool(by()), copySkillFile(by())];
}

function listSkills(ports: ToolPorts): Tool {
  return defineTool({
    name: 'list_skills',
    description:
      'Finds skills for a request, best first; without a query lists all by id. A skill holds instructions and knowledge for a kind of task.',
    input: lateInput(
      () =>
        z.object({
          query: z.string().default('').describe('What is to be done, in a few words; empty lists all.'),
          limit: z.int().min(1).max(50).default(8),
          offset: z.int().min(0).default(0),
        }),
      (input) => {
        const { query = '' } = input;
        const limit = wholeNumber(input['limit'], 8, 1, 50);
        const offset = wholeNumber(input['offset'], 0, 0, Number.MAX_SAFE_INTEGER);
        if (typeof query !== 'string' || limit === null || offset === null || !hasOnly(input, ['query', 'limit', 'offset'])) return null;
        return { query, limit, offset };
      },
    ),
    effect: 'read',
    present: presenter('list_skills', ({ count, total, more }) =>
      typeof count === 'number' && typeof total === 'number'
        ? `${count} of ${more === true ? 'the best ' : ''}${total} skills listed`
        : null,
    ),
    async execute(input, call) {
      const snapshot = await ports.pinned(call.turn);
      const scope = ports.scope(snapshot, call.turn.agent);
      if (input.query.trim() === '') return listResult(scope, input, null);
      const among = (id: string): boolean => scope.readable.has(id);
      return listResult(
        scope,
        input,
        await ports.search.rank(snapshot, input.query, { k: MOST_FOUND, agentId: call.turn.agent.id, among, patienceMs: PATIENCE_MS }),
      );
    },
  });
}

/** A model that searches waits so long for bodies that are being read. */
const PATIENCE_MS = 2000;

function readOne(ports: ToolPorts): Tool {
  return defineTool({
    name: 'read_skill',
    description: 'Loads the full instructions of a skill. Read a skill before a task that it fits, then follow it.',
    input: lateInput(
      () =>
        z.object({
          skill_id: z.string().describe('The id as the catalog or list_skills shows it.'),
          part: z.int().min(1).default(1).describe('Long skills come in numbered parts.'),
        }),
      (input) => {
        const { skill_id } = input;
        const part = wholeNumber(input['part'], 1, 1, Number.MAX_SAFE_INTEGER);
        return typeof skill_id === 'string' && part !== null && hasOnly(input, ['skill_id', 'part']) ? { skill_id, part } : null;
      },
    ),
    effect: 'read',
    present: presentsSkill('read_skill'),
    execute: ({ skill_id, part }, call) => withSkill(ports, skill_id, call, (skill) => readSkill(ports, skill, part, call)),
  });
}

function readFile(ports: ToolPorts): Tool {
  return defineTool({
    name: 'read_skill_resource',
    description: 'Reads one file of a skill, such as references/guide.md. Binary files give their type, size and digest only.',
    input: lateInput(
      () =>
        z.object({
          skill_id: z.string(),
          path: z.string().describe("Relative to the skill's folder; a leading references/ may be left out."),
          part: z.int().min(1).default(1).describe('Long files come in numbered parts.'),
        }),
      () => null,
    ),
    effect: 'read',
    present: presentsResource('read_skill_resource'),
    execute: ({ skill_id, path, part }, call) =>
      withSkill(ports, skill_id, call, (skill) => readSkillResource(ports, skill, { path, part }, call)),
  });
}

type Run = (skill: Skill) => Promise<ToolResult>;

async function withSkill(ports: ToolPorts, name: string, call: ToolCall, run: Run, search?: string): Promise<ToolResult> {
  const found = await skillFor(ports, name, call, search);
  if (isToolResult(found)) return found;
  const result = await run(found);
  return (await ports.isStillTrusted(found)) ? result : noLongerTrusted(found); // it may have changed while it was read
}

/** The skill that an agent may use now, or the error that says what to do instead. */
export async function skillFor(ports: ToolPorts, name: string, call: ToolCall, search?: string): Promise<Skill | ToolResult> {
  const snapshot = await ports.pinned(call.turn);
  const found = requireSkill(snapshot, ports.scope(snapshot, call.turn.agent), name, search);
  return isToolResult(found) || (await ports.isStillTrusted(found)) ? found : noLongerTrusted(found);
}
