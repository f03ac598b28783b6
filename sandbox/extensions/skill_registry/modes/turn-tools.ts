import type { ToolProvider, TurnInfo } from 'pith';
import { PART_TOKENS, type ToolPorts } from '../reading/read-skill.ts';
import type { Offer, ScopeCache } from '../catalog/scope.ts';
import type { Skill, Snapshot } from '../skill.ts';
import { OWN_MODES } from './mode.ts';
import { briefOf, clean } from '@pith/skill-files';
import { mostTokens } from '@pith/token-count';

/** What a turn is given of one tool. */
export type TurnTool = Awaited<ReturnType<NonNullable<ToolProvider['getTurnTools']>>>[number];

type ModePorts = Pick<ToolPorts, 'context' | 'cache'>;

/** The tools by which an agent meets its skills in this mode, beside those of its `uses_tools` (S65). */
export function modeTools({ context, cache }: ModePorts, snapshot: Snapshot, turn: TurnInfo, mode: string): readonly TurnTool[] {
  const { settings, catalog, readable } = cache.scope(snapshot, turn.agent);
  const resource: readonly TurnTool[] = readable.size === 0 ? [] : [{ tool: 'read_skill_resource' }];
  const skill = (): TurnTool => ({ tool: 'skill', ...descriptionFor(cache, snapshot, turn) });
  if (mode === 'single_tool') return catalog.length === 0 ? resource : [skill(), ...resource];
  // An agent whose own mode is gone has a catalog instead, and reads by the same tools.
  if (!OWN_MODES.has(mode) || settings.mode === 'triggers') return readable.size === 0 ? [] : [{ tool: 'read_skill' }, ...resource];
  // An agent that names the tool has the list of skills in its description, whatever the mode.
  return catalog.length > 0 && turn.tools.includes(`${context.id}/skill`) ? [skill()] : [];
}

/** The skills that a turn's model is offered where there is no catalog: all in the description of the one tool, or none. */
export function toolOffer({ context, cache }: ModePorts, snapshot: Snapshot, turn: TurnInfo): Offer {
  const own = `${context.id}/skill`;
  const scope = cache.scope(snapshot, turn.agent);
  return { scope, listed: turn.tools.includes(own) ? 'all' : [] };
}

/** Made once per snapshot, agent and size of window. */
function descriptionFor(cache: ScopeCache, snapshot: Snapshot, { agent, model, tools }: TurnInfo): SingleTool {
  const { settings, catalog } = cache.scope(snapshot, agent);
  const budget = settings.budget_tokens ?? singleToolBudget(model.contextWindow);
  const rules = rulesFor(tools);
  return cache.made(snapshot, agent, `single_tool ${budget} ${rules.includes(COPY_RULE)} ${rules.includes(PYTHON_RULE)}`, () =>
    singleTool(catalog, budget, rules),
  );
}

/** The tool `skill` as one agent has it. */
interface SingleTool {
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

const INTRODUCTION = 'Loads a skill: instructions and knowledge for a kind of task. Follow them once they are loaded.';
const SHORTENED = 'Descriptions are shortened, because there are many skills.';

/** A tenth of the model's window, at most 10,000 tokens: the list is sent with every step. */
export function singleToolBudget(contextWindow: number | null): number {
  const MOST = 10_000;
  return contextWindow === null ? MOST : Math.min(MOST, Math.floor(contextWindow / 10));
}

/** The tool for these skills, sorted by id. Where their descriptions do not fit into `budget` tokens, all of them become shorter. */
export function singleTool(skills: readonly Skill[], budget: number, rules: readonly string[]): SingleTool {
  const sorted = [...skills].sort((a, b) => (a.id < b.id ? -1 : 1));
  let chosen: readonly string[] = [];
  let shortened = false;
  for (const [at, detail] of DETAILS.entries()) {
    chosen = sorted.map((skill) => element(skill, detail));
    shortened = at > 0;
    if (mostTokens(chosen.join('\n')) <= budget) break;
  }
  const description = [
    INTRODUCTION,
    '',
    'Rules:',
    ...rules.map((rule) => `- ${rule}`),
    ...(shortened ? [`- ${SHORTENED}`] : []),
    '',
    '<skills>',
    ...chosen,
    '</skills>',
  ].join('\n');
  return { description, inputSchema: schemaOf(sorted) };
}

type Detail = (skill: Skill) => string;

/** From whole descriptions to none. */
const DETAILS: readonly Detail[] = [
  ({ description }) => clean(description),
  (skill) => briefOf(skill),
  (skill) => briefOf(skill, 60),
  () => '',
];

function element(skill: Skill, detail: Detail): string {
  const attributes = (['id', 'name', 'directory'] as const).map((name) => `${name}="${escapeMarkup(clean(skill[name]))}"`).join(' ');
  return `<skill ${attributes}>${escapeMarkup(detail(skill))}</skill>`;
}

function escapeMarkup(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;').replaceAll("'", '&apos;');
}

function schemaOf(skills: readonly Skill[]): Readonly<Record<string, unknown>> {
  const hasParts = skills.some(({ tokens }) => tokens > PART_TOKENS);
  return {
    type: 'object',
    properties: {
      skill_name: { type: 'string', enum: skills.map(({ id }) => id), description: 'The id of one of the skills in <skills>.' },
      ...(hasParts ? { part: { type: 'integer', minimum: 1, description: 'Of a long skill, once its first part is read.' } } : {}),
    },
    required: ['skill_name'],
    additionalProperties: false,
  };
}

/** The rules in the tool's description for an agent of the mode `single_tool`, one sentence each; those on copying and running only where it has a tool for that. */
export function rulesFor(tools: readonly string[]): readonly string[] {
  const names = new Set(tools.map((tool) => tool.slice(tool.lastIndexOf('/') + 1)));
  return [
    ...SINGLE_TOOL_RULES,
    ...(names.has('copy_skill_file') ? [COPY_RULE] : []),
    ...(names.has('run_skill_script') || names.has('shell') ? [PYTHON_RULE] : []),
  ];
}

const SINGLE_TOOL_RULES: readonly string[] = [
  'Give the name of the skill only, with no arguments, such as skill_name "code-review".',
  'When a skill is relevant, call this tool IMMEDIATELY, as your first action, before any other answer.',
  'Never only announce or mention a skill without calling this tool.',
  'Use only the skills that are listed in <skills> below.',
  'Do not call a skill that is already running.',
  'The folder of a skill has supporting files, such as references, templates and scripts: read them with read_skill_resource.',
  'The folder of a skill is read-only.',
];

const COPY_RULE = 'To change one of its files, copy it to the working directory first, and change the copy.';
const PYTHON_RULE = 'Run Python through uv, and never install packages with the system pip.';
