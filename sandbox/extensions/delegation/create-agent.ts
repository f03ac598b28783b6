import {
  type AgentSpec,
  defineTool,
  type ExtensionContext,
  messageOf,
  PithError,
  SkillProvider,
  type Tool,
  toolResult,
  type TurnInfo,
  z,
} from 'pith';
import { didYouMean, withCure } from '@pith/plain-text';
import { sha256 } from '@pith/plain-data';
import { LIFE_MS, MOST_MADE, type MadeAgents } from './made-agents.ts';

const LONGEST_INSTRUCTIONS = 20_000;

const limit = z.int().min(1).optional();
const names = z.array(z.string().min(1)).max(100).default([]);

const input = z.strictObject({
  name: z.string().trim().min(1).max(60),
  instructions: z.string().trim().min(1).max(LONGEST_INSTRUCTIONS).describe('Who it is and how it works.'),
  description: z.string().trim().max(300).default('').describe('What it is for.'),
  uses_tools: names.describe('Tools that you have yourself, by name, extension/tool or extension; "*" for all of them.'),
  uses_skills: names.describe('Ids of skills that you can read; their text is in its instructions.'),
  model: z.string().min(1).optional().describe('An alias or provider/model; default yours.'),
  limits: z
    .strictObject({ max_turns: limit, max_tool_calls: limit, max_tokens: limit, time_budget_ms: limit })
    .default({})
    .describe('Never higher than yours.'),
  keep: z.boolean().default(false).describe('True: until forget_agent; else for 30 minutes, in this conversation.'),
});

type Wanted = z.output<typeof input>;

export function createAgentTools(context: ExtensionContext, made: MadeAgents): readonly Tool[] {
  return [createAgent(context, made), forgetAgent(made)];
}

function createAgent(context: ExtensionContext, made: MadeAgents): Tool {
  return defineTool({
    name: 'create_agent',
    description:
      'Makes an agent of your own for delegate_task, where none of list_agents fits. It has at most your tools, skills and limits.',
    input,
    effect: 'idempotent', // the call determines its id
    permission: { authoring: 'admin', safeToShare: false },
    async execute(wanted, { turn, idempotencyKey }) {
      const usesTools = grantedTools(wanted.uses_tools, turn);
      const usesSkills = await grantedSkills(wanted.uses_skills, turn, context);
      const spec = specOf(wanted, turn, { usesTools, usesSkills }, idempotencyKey);
      const problems = (await context.agents.check(spec)).filter(({ severity }) => severity === 'error');
      if (problems.length > 0)
        throw new PithError(
          'agent_failed',
          `the agent cannot run: ${problems.map(({ message, cure }) => withCure(message, cure)).join('; ')}`,
        );
      const expiresAt = wanted.keep ? null : context.clock.now() + LIFE_MS;
      const by = { agent: turn.agent.id, user: turn.userId, thread: turn.threadId };
      if (!(await made.add({ spec, by, expiresAt }, turn)))
        throw new PithError('limit_reached', `'${turn.agent.id}' has made ${MOST_MADE} agents, which is the most`, {
          cure: 'remove one with forget_agent',
        });
      const { id, model, limits } = spec;
      return toolResult(
        {
          agent_id: id,
          tools: usesTools,
          skills: usesSkills,
          model,
          limits: { ...limits },
          expires_at: expiresAt === null ? null : new Date(expiresAt).toISOString(),
        },
        { title: `Made ${id}` },
      );
    },
  });
}

function forgetAgent(made: MadeAgents): Tool {
  return defineTool({
    name: 'forget_agent',
    description: 'Removes an agent that you made with create_agent.',
    input: z.object({ agent_id: z.string().min(1) }),
    effect: 'idempotent',
    permission: { authoring: 'admin', safeToShare: false },
    async execute({ agent_id: id }, { turn }) {
      const ids = (await made.of(turn)).map(({ spec }) => spec.id);
      if (!ids.includes(id)) throw new PithError('agent_unknown', `'${turn.agent.id}' has made no agent '${id}'${didYouMean(id, ids)}`);
      await made.forget(id);
      return { agent_id: id, forgotten: true };
    },
  });
}

/** What the call leaves out comes from the creator, values of other extensions' keys included, so that the catalog is never wider. */
function specOf(wanted: Wanted, { agent }: TurnInfo, uses: Pick<AgentSpec, 'usesTools' | 'usesSkills'>, key: string): AgentSpec {
  const slug = wanted.name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '')
    .slice(0, 40);
  return {
    id: `made_${slug === '' ? '' : `${slug}_`}${sha256(key).slice(0, 8)}`,
    name: wanted.name,
    description: wanted.description || `Made by '${agent.id}'`,
    model: wanted.model ?? agent.model,
    integrationMode: 'none',
    instructions: wanted.instructions,
    prompt: null,
    promptFile: null,
    ...uses,
    delegatesTo: [],
    limits: shrunk(agent.limits, wanted.limits),
    keys: agent.keys,
    origin: null,
  };
}

function shrunk(limits: AgentSpec['limits'], by: Wanted['limits']): AgentSpec['limits'] {
  const least = (key: keyof AgentSpec['limits']) => Math.min(limits[key], by[key] ?? Infinity);
  return {
    max_turns: least('max_turns'),
    max_tool_calls: least('max_tool_calls'),
    max_tokens: least('max_tokens'),
    time_budget_ms: least('time_budget_ms'),
  };
}

/** The tools that `wanted` names, each as `extension/tool`, when the turn has all of them. Throws `tool_unknown` with the nearest names. */
function grantedTools(wanted: readonly string[], { tools, agent }: TurnInfo): readonly string[] {
  const granted = new Set<string>();
  for (const name of wanted) {
    const meant = tools.filter((tool) => name === '*' || namesOf(tool).includes(name));
    if (meant.length === 0 && name !== '*') {
      const close = didYouMean(name, new Set(tools.flatMap(namesOf)));
      throw new PithError(
        'tool_unknown',
        `uses_tools '${name}': '${agent.id}' has no such tool to give${close}; it has ${tools.join(', ')}`,
      );
    }
    for (const tool of meant) granted.add(tool);
  }
  return [...granted];
}

/** A tool may be named by its extension, by its own name, or by both, as manifests and models write it. */
function namesOf(tool: string): readonly string[] {
  const [extension = '', name = ''] = tool.split('/', 2);
  return [tool, name, extension, `${extension}__${name}`];
}

/** `wanted`, when the turn's agent may read all of them. Rejects `skill_not_found` with the nearest names. */
async function grantedSkills(
  wanted: readonly string[],
  { agent }: TurnInfo,
  context: Pick<ExtensionContext, 'find' | 'logger'>,
): Promise<readonly string[]> {
  if (wanted.length === 0) return [];
  const readable = new Set(agent.usesSkills);
  for (const provider of context.find(SkillProvider)) {
    try {
      for (const id of (await provider.readableSkills?.(agent)) ?? []) readable.add(id);
    } catch (error) {
      // Fails closed: without an answer nothing is granted.
      context.logger.warn(`'${provider.extensionId}' does not say which skills '${agent.id}' may read`, { error: messageOf(error) });
    }
  }
  const missing = wanted.find((id) => !readable.has(id));
  // An agent with a certain version of a skill can pass on only that one.
  const asItHas = (id: string): string =>
    agent.usesSkills.includes(id) ? id : (agent.usesSkills.find((each) => each.startsWith(`${id}@`)) ?? id);
  if (missing === undefined) return [...new Set(wanted.map(asItHas))];
  throw new PithError(
    'skill_not_found',
    `uses_skills '${missing}': '${agent.id}' has no such skill to give${didYouMean(missing, readable)}`,
  );
}
