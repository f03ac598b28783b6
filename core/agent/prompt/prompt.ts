import type { PromptVariables } from './template.ts';
import { type Diagnostic, messageOf, PithError } from '../../contract/index.ts';
import type { BroughtPrompt } from '../../kernel/index.ts';

export type { PromptVariables } from './template.ts';

/** Text without template marks is taken as it is, and the template engine is never loaded for it. */
export function isTemplate(text: string): boolean {
  return text.includes('{{') || text.includes('{%') || text.includes('{#');
}

/** Findings of a prompt before it is ever rendered: syntax, what is not on the list of what a template may use, unknown names, unbound skills. */
export async function checkPrompt(text: string, file: string | null, skills: readonly string[]): Promise<readonly Diagnostic[]> {
  if (!isTemplate(text) || simple(text, (name, key) => isKnown(name, key, skills))) return [];
  const { readTemplate } = await import('./template.ts');
  return readTemplate(text, skills).findings.map((finding) => ({ severity: 'error', ...finding, file: file ?? undefined }));
}

/** Rejects `prompt_invalid` with file and line: nothing is rendered that `checkPrompt` would not have accepted. */
export async function renderPrompt(text: string, file: string | null, variables: PromptVariables): Promise<string> {
  if (!isTemplate(text)) return text;
  const plain = simple(text, (name, key) => valueOf(variables, name, key) !== undefined);
  if (plain) return plain.map((part) => (typeof part === 'string' ? part : valueOf(variables, ...part))).join('');
  const { renderTemplate, TemplateProblem } = await import('./template.ts');
  try {
    return renderTemplate(text, variables);
  } catch (error) {
    const line = error instanceof TemplateProblem ? error.line : undefined;
    const where = file === null ? undefined : line === undefined ? file : `${file}:${line}`;
    throw new PithError('prompt_invalid', `the prompt cannot be rendered: ${messageOf(error)}`, {
      cause: error,
      where,
      cure: 'correct the template',
    });
  }
}

/** As `renderPrompt`, of what the process of an extension is given. */
export function renderBrought({ text, file, variables }: BroughtPrompt): Promise<string> {
  return renderPrompt(text, file, variables as PromptVariables);
}

type Place = readonly [name: string, key: string | undefined];

/** `{{ name }}`, `{{ agent.name }}` and `{{ skills['name'] }}`. */
const PLACE = /\{\{ *([a-z_]+)(?:\.([a-z_]+)|\[(?:'([^'"\\{}]+)'|"([^'"\\{}]+)")\])? *\}\}/g;

/** The parts of a template of nothing but such places, all of which `knows` knows; null for any other: the engine, 100 KB, is for those. */
function simple(text: string, knows: (name: string, key: string | undefined) => boolean): readonly (string | Place)[] | null {
  const parts: (string | Place)[] = [];
  let end = 0;
  for (const found of text.matchAll(PLACE)) {
    const place: Place = [found[1]!, found[2] ?? found[3] ?? found[4]];
    if (!knows(...place)) return null;
    parts.push(text.slice(end, found.index), place);
    end = found.index + found[0].length;
  }
  parts.push(text.slice(end));
  return parts.some((part) => typeof part === 'string' && isTemplate(part)) ? null : parts;
}

const TEXTS = new Set(['sandbox_dir', 'date', 'channel', 'user']);
const AGENT_TEXTS = new Set(['id', 'name', 'description', 'model']);

function isKnown(name: string, key: string | undefined, skills: readonly string[]): boolean {
  if (key === undefined) return TEXTS.has(name);
  return name === 'agent' ? AGENT_TEXTS.has(key) : name === 'skills' && skills.includes(key);
}

function valueOf(variables: PromptVariables, name: string, key: string | undefined): string | undefined {
  const own = (target: object, property: string): unknown =>
    Object.hasOwn(target, property) ? (target as Readonly<Record<string, unknown>>)[property] : undefined;
  const value = own(variables, name);
  const found = key === undefined ? value : typeof value === 'object' && value !== null ? own(value, key) : undefined;
  return typeof found === 'string' ? found : undefined;
}
