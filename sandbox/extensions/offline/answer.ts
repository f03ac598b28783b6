import type { JsonValue } from 'pith';
import { fittingPassages, sectionsOf, type Passage } from './passages.ts';
import type { ListedSkill } from './skill-list.ts';
import type { SkillText } from './skill-text.ts';

/** What to do where the librarian cannot go on, for whoever can do it. */
export interface Hints {
  readonly connect: string;
  readonly add: string;
  readonly missing: string;
  readonly off: string;
}

export const HINTS: Readonly<Record<'person' | 'program', Hints>> = {
  person: {
    connect: 'To connect a model, type /setup in a chat, or run: pith setup',
    add: 'To add one, write `sandbox/skills/<id>/SKILL.md` with a `name` and a `description` at its top; it can be used by the next message.',
    missing: 'Add the extension that provides skills to its `uses_tools`, or check with `pith doctor` why it is missing.',
    off: 'are switched off (`--no-skills`, `skills.enabled: false`, `extensions: { skill_registry: … }`), or nothing in its `uses_tools` provides them.',
  },
  program: {
    connect: 'To connect a model, give `model` to createPith.',
    add: 'To add one, give `skills` to createPith.',
    missing: "Add 'skill_registry' to `usesTools` of the agent.",
    off: "are switched off in `settings`, or 'skill_registry' is missing in its `usesTools`.",
  },
};

/** Ends the first answer of a conversation. */
export function introduction({ connect }: Hints): string {
  return `I am the offline librarian: I find a skill and quote it, and cannot reason or act. ${connect}`;
}

const MAX_NAMED = 8;
const MAX_DESCRIPTION = 120;

export function answerFrom(id: string, text: SkillText, question: string): string {
  const passages = fittingPassages(question, text.body);
  const place = text.source === null ? '' : ` (${text.source}/${id})`;
  if (passages.length > 0) return finish([`From the skill \`${id}\`${place}:`, ...passages.map((passage) => quote(id, passage))]);
  return finish([
    `The skill \`${id}\`${place} fits by its description, though no passage shares your words. It begins:`,
    ...opening(id, text.body),
  ]);
}

export function answerFromNothing(ids: readonly string[], found: readonly string[], { add }: Hints): string {
  const near = found.length > 0 && found.length <= MAX_NAMED ? found : ids;
  const known = ids.length === 0 ? 'There are no skills yet.' : `Some that exist: ${names(near)}.`;
  return finish(['Nothing fits: no skill is about this, and without a model I know nothing else.', known, add]);
}

export function answerGreeting(skills: readonly ListedSkill[], { add }: Hints): string {
  if (skills.length === 0) return finish(['Hello. I answer from skills, and there are none yet.', add]);
  const lines = skills
    .slice(0, MAX_NAMED)
    .map((skill) => `- \`${skill.id}\`${skill.description === '' ? '' : `: ${shorten(skill.description)}`}`);
  return finish(['Hello. I answer questions from the skills here:', lines.join('\n')]);
}

export function answerWithoutTools(tools: readonly string[], { missing }: Hints): string {
  const names = tools.map((tool) => `\`${tool}\``).join(' and ');
  return finish([`I answer from skills only, and this agent does not offer ${names}. ${missing}`]);
}

/** For an agent that gets skills by their triggers, when the message triggers none. */
export function answerWithoutTrigger(skills: readonly ListedSkill[]): string {
  return finish([
    'No words of this message bring a skill of this agent, which is given skills by what a message says.',
    skills.length === 0
      ? 'Name a skill by its id, or ask `what can you do` to see which there are.'
      : `Name one of these: ${names(skills.map(({ id }) => id))}.`,
  ]);
}

/** For an agent without access to skills. */
export function answerWithoutSkills({ off }: Hints): string {
  return finish([
    `I answer from skills only, and this agent meets none now: its mode is \`none\`, skills or the extension that serves them ${off}`,
  ]);
}

export function answerToolError(tool: string, output: JsonValue): string {
  return finish([
    `I could not answer from the skills: \`${tool}\` failed (${shorten(typeof output === 'string' ? output : JSON.stringify(output), 300)}).`,
  ]);
}

function quote(id: string, passage: Passage): string {
  // The outermost heading is the file's title, which the id already says.
  const section = passage.headings.length > 1 ? passage.headings.slice(1) : passage.headings;
  const place = [id, ...section].join(' › ');
  return `**${place}**\n${joinBlocks(passage.blocks)}`;
}

function opening(id: string, body: string): readonly string[] {
  const sections = sectionsOf(body);
  const first = sections[0];
  const headings = sections.map((section) => section.headings.at(-1)).filter((heading) => heading !== undefined);
  return [
    ...(first === undefined ? ['(it has no text)'] : [quote(id, { headings: first.headings, blocks: first.blocks.slice(0, 2) })]),
    ...(headings.length > 1 ? [`Its sections: ${headings.join(' · ')}.`] : []),
  ];
}

/** Items of one list stay together; other blocks are separated by a blank line, as in the file. */
function joinBlocks(blocks: readonly string[]): string {
  return blocks.reduce((text, block, index) => {
    const item = /^\s*(?:[-*+]|\d+[.)])\s/;
    const together = item.test(block) && item.test(blocks[index - 1] ?? '');
    return `${text}${index === 0 ? '' : together ? '\n' : '\n\n'}${block}`;
  }, '');
}

function names(ids: readonly string[]): string {
  return ids
    .slice(0, MAX_NAMED)
    .map((id) => `\`${id}\``)
    .join(', ');
}

function shorten(text: string, limit = MAX_DESCRIPTION): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length <= limit ? line : `${line.slice(0, limit - 1).trimEnd()}…`;
}

function finish(paragraphs: readonly string[]): string {
  return paragraphs.join('\n\n');
}
