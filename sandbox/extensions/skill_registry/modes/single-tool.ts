import { briefOf, clean } from '../catalog/brief.ts';
import { estimateTokens } from '../catalog/token-estimate.ts';
import type { Skill } from '../skill.ts';
import { SINGLE_TOOL_RULES } from './single-tool-rules.ts';

/** How the tool `skill` is told to one agent. */
export interface SingleTool {
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
export function singleTool(skills: readonly Skill[], budget: number): SingleTool {
  const sorted = [...skills].sort((a, b) => (a.id < b.id ? -1 : 1));
  const lists = DETAILS.map((detail) => () => sorted.map((skill) => element(skill, detail)));
  let chosen: readonly string[] = [];
  let shortened = false;
  for (const [at, list] of lists.entries()) {
    chosen = list();
    shortened = at > 0;
    if (estimateTokens(chosen.join('\n')) <= budget) break;
  }
  const description = [
    INTRODUCTION,
    '',
    'Rules:',
    ...SINGLE_TOOL_RULES.map((rule) => `- ${rule}`),
    ...(shortened ? [`- ${SHORTENED}`] : []),
    '',
    '<skills>',
    ...chosen,
    '</skills>',
  ].join('\n');
  return { description, inputSchema: schemaOf(sorted.map(({ id }) => id)) };
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
  const attributes = (['id', 'name', 'directory'] as const).map((name) => `${name}="${escaped(clean(skill[name]))}"`).join(' ');
  return `<skill ${attributes}>${escaped(detail(skill))}</skill>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;').replaceAll("'", '&apos;');
}

function schemaOf(ids: readonly string[]): Readonly<Record<string, unknown>> {
  return {
    type: 'object',
    properties: { skill_name: { type: 'string', enum: ids, description: 'The id of one of the skills in <skills>.' } },
    required: ['skill_name'],
    additionalProperties: false,
  };
}
