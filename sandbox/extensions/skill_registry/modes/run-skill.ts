import { type AgentSpec, defineTool, type Tool, type ToolCall, toolError, toolResult, type ToolResult, type TurnEvent, z } from 'pith';
import { printableLine } from '@pith/plain-text';
import { agentSkills } from '../catalog/scope.ts';
import { presentsSkill } from '../reading/results.ts';
import { TOOLSET } from '../contract.ts';
import { referenceTo } from '../versions/versions.ts';
import type { Skill } from '../skill.ts';
import { allowedOwnTools, allowedTools, type AllowedTools } from './allowed-tools.ts';
import { type ToolPorts, withSkill } from '../reading/read-skill.ts';
import { modeOf, OWN_MODES } from './mode.ts';

/** What ends a task is the time budget of the turns that work on it, not this. */
const LONGEST_MS = 24 * 3_600_000;

/** Runs a skill apart: in a separate turn that has no more tools than the skill asks for, of those that the agent has and its own toolset brings. */
export function runSkillTool(ports: ToolPorts): Tool {
  return defineTool({
    name: 'run_skill',
    description:
      'Runs a skill outside this conversation and returns the answer. The skill sees only the task that you write here, and has only the tools that it is allowed.',
    input: z.object({
      skill_id: z.string().describe('The id of the skill.'),
      task: z.string().trim().min(1).describe('What to do, with all that must be known for it, and what to answer with.'),
    }),
    effect: 'idempotent', // the same call continues the same turn, or repeats its answer
    permission: { authoring: 'admin', safeToShare: false },
    runsAgent: true,
    optIn: true,
    timeoutMs: LONGEST_MS,
    present: presentsSkill('run_skill', ['reason'], (id, { reason }) => `Skill ${id} run: ${reason}`),
    execute: ({ skill_id, task }, call) => withSkill(ports, skill_id, call, (skill) => run(ports, skill, task, call)),
  });
}

const NOTHING_MISSING = { missing: [], patterns: [] };

type End = Extract<TurnEvent, { type: 'turn-end' }>;

async function run(ports: ToolPorts, skill: Skill, task: string, { turn, signal, idempotencyKey: key }: ToolCall): Promise<ToolResult> {
  const { context } = ports;
  const { sha256 } = await ports.registry.readBody(skill);
  const isOwn = (tool: string): boolean => ['/', '@'].some((end) => tool.startsWith(`${TOOLSET}${skill.id}${end}`));
  const agentTools = turn.tools.filter((tool) => tool !== `${context.id}/run_skill` && !isOwn(tool));
  const { granted } = allowedTools(skill.allowedTools, agentTools);
  ports.turns.record(turn, { skillId: skill.id, state: 'loaded', how: 'run_skill', sha256 });
  const thread = `${turn.threadId}/${key}`;
  const policy = { allowTools: [...granted, ...allowedOwnTools(skill.allowedTools, skill.id)] };
  const agent = workerOf(skill, turn.agent, granted, await modeOf(context, turn.agent));
  const events = context.agents.run({ agent, input: task, threadId: thread, parent: turn, key, policy }, signal);
  ports.workers.set(thread, null);
  let end: End | null = null;
  for await (const event of events) if (event.type === 'turn-end') end = event;
  const own = ports.workers.get(thread) ?? null; // null: it had come to its end before
  ports.workers.delete(thread);
  const tools = own === null ? NOTHING_MISSING : allowedTools(skill.allowedTools, [...agentTools, ...own]);
  return end === null
    ? toolError('aborted', `skill '${printableLine(skill.id)}' was stopped before it began`)
    : resultOf(skill, tools, thread, end);
}

/** The skill as an agent: its body is bound, so that it is in the instructions and its files can be read. */
function workerOf(skill: Skill, agent: AgentSpec, granted: readonly string[], mode: string): AgentSpec {
  return {
    ...agent,
    id: `skill:${skill.id}`, // no declared agent has a colon in its id
    name: skill.name,
    description: `Carries out the skill '${printableLine(skill.id)}' for '${agent.id}'`,
    integrationMode: 'none',
    instructions: '',
    prompt: null,
    promptFile: null,
    usesTools: granted,
    usesSkills: [referenceTo(skill)],
    // A task brings no other skills by its words.
    keys: { ...agent.keys, skills: { ...agentSkills(agent), mode: OWN_MODES.has(mode) ? mode : 'none' } },
    origin: null,
  };
}

function resultOf(
  skill: Skill,
  { missing, patterns }: Pick<AllowedTools, 'missing' | 'patterns'>,
  thread: string,
  { reason, text, usage, error }: End,
): ToolResult {
  const { id, name, directory } = skill;
  const shown = printableLine(id);
  const options = { title: `Skill ${shown} run: ${reason}`, metadata: { skill_id: id, skill_name: name, directory, reason, thread } };
  if (reason === 'done' || reason === 'limit') {
    const without = [...missing, ...patterns];
    const stopped = error === undefined ? {} : { stopped: error.message };
    const notes = without.length === 0 ? {} : { allowed_but_not_there: without };
    return toolResult({ skill: id, reason, text, ...stopped, ...notes, usage: { ...usage } }, options);
  }
  const sofar = text === '' ? '' : `; so far it said: ${text}`;
  if (reason === 'awaiting_approval')
    return toolError('awaiting_approval', `skill '${shown}' waits for a person's answer${sofar}`, options);
  if (reason === 'aborted') return toolError('aborted', `skill '${shown}' was stopped${sofar}`, options);
  return toolError(error?.code ?? 'internal', `skill '${shown}' failed: ${error?.message ?? 'it gave no reason'}${sofar}`, options);
}
