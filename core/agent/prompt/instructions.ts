import { createHmac, randomBytes } from 'node:crypto';
import { type AgentSpec, PithError } from '../../contract/index.ts';
import { isTemplate } from '@pith/guarded-templates';
import { printableLine } from '@pith/plain-text';
import { renderPrompt, type BroughtPrompt } from '../../kernel/index.ts';
import type { BoundSkill } from './bound-skills.ts';
import type { PromptVariables } from './prompt.ts';

/** The order of an agent's own instructions in the system text. */
export const INSTRUCTION_ORDER = ['skills', 'prompt', 'instructions'] as const;

/** The most that a prompt may be with all bodies in it: a template may print one as often as it likes. */
const MOST_PLACED = 4 * 1024 * 1024;

export type InstructionPart = { readonly name: string; readonly text: string };

/**
 * Bodies of `uses_skills`, then the prompt template, then inline instructions. A template that prints `skills['id']`
 * gets that body there instead of on top. Bodies are values: inserted after rendering, byte for byte. `brought` renders what an
 * extension brought, which is given placeholders in their place.
 */
export async function instructionsOf(
  spec: AgentSpec,
  skills: readonly BoundSkill[],
  variables: Omit<PromptVariables, 'skills' | 'agent'>,
  brought: (extensionId: string, prompt: BroughtPrompt) => Promise<string>,
): Promise<readonly InstructionPart[]> {
  const placed = skills.map((skill) => ({ ...skill, token: skill.content === null ? '' : tokenOf(skill.name), text: wrapped(skill) }));
  const prompt = promptOf(spec, placed, variables);
  const rendered = await (spec.promptBy === undefined || !isTemplate(prompt.text) ? renderPrompt(prompt) : brought(spec.promptBy, prompt));
  const onTop = placed.filter(({ token }) => token !== '' && !rendered.includes(token));
  const bodies = placed.filter(({ token }) => token !== '');
  refuseTooLong(rendered, bodies, spec.promptFile);
  const sections = {
    skills: onTop.map(({ name, text }) => ({ name: `skill ${name}`, text })),
    prompt: [
      {
        name: 'prompt',
        text: withBodies(trimmed(rendered), bodies),
      },
    ],
    instructions: [{ name: 'instructions', text: trimmed(spec.instructions) }],
  };
  return INSTRUCTION_ORDER.flatMap((section) => sections[section]).filter(({ text }) => text !== '');
}

interface Placed {
  readonly name: string;
  readonly token: string;
  readonly text: string;
}

function promptOf(spec: AgentSpec, placed: readonly Placed[], variables: Omit<PromptVariables, 'skills' | 'agent'>): BroughtPrompt {
  const agent = { id: spec.id, name: spec.name, description: spec.description, model: spec.model };
  const skills = Object.fromEntries(placed.map(({ name, token }) => [name, token]));
  return { text: spec.prompt ?? '', file: spec.promptFile, variables: { ...variables, agent, skills } };
}

/** Throws before a text is made that nobody can hold. */
function refuseTooLong(text: string, placed: readonly Placed[], file: string | null): void {
  const length = placed.reduce((sum, each) => sum + (text.split(each.token).length - 1) * each.text.length, text.length);
  if (length <= MOST_PLACED) return;
  throw new PithError(
    'prompt_invalid',
    `the prompt with the bodies of skills in it has ${length} characters, and ${MOST_PLACED} is the most`,
    {
      where: file ?? undefined,
      cure: 'print each skill once',
    },
  );
}

/** Splits at every token before any body is inserted, so that nothing in a body is ever taken for a token. */
function withBodies(text: string, placed: readonly Placed[]): string {
  const [first, ...rest] = placed;
  if (first === undefined) return text;
  return text
    .split(first.token)
    .map((piece) => withBodies(piece, rest))
    .join(first.text);
}

const secret = randomBytes(32);

/** Nobody can write it in a file beforehand; digits between private-use characters pass every text filter unchanged. */
function tokenOf(name: string): string {
  return `\uE000${BigInt(`0x${createHmac('sha256', secret).update(name).digest('hex')}`)}\uE001`;
}

function wrapped({ content }: BoundSkill): string {
  if (content === null) return '';
  const { id, sha256, body } = content;
  // A text that writes an end itself is ended by its own hash, which no text can hold.
  const end = /<\/skill/i.test(body) ? `</skill sha256="${escaped(sha256)}">` : '</skill>';
  return `<skill id="${escaped(printableLine(id))}" sha256="${escaped(sha256)}">\n${body}\n${end}`;
}

function escaped(value: string): string {
  return value.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function trimmed(text: string): string {
  return text.replace(/^(?:[ \t]*\r?\n)+/, '').trimEnd();
}
