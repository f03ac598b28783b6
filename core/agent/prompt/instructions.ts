import { createHmac, randomBytes } from 'node:crypto';
import { checkTemplate, isTemplate } from '@pith/guarded-templates';
import { printableLine } from '@pith/plain-text';
import { type AgentSpec, codeOf, type Diagnostic, messageOf, PithError, type Remote, SkillProvider } from '../../contract/index.ts';
import { type PromptTemplate, CLOSED_VARIABLES, type ExtensionFacts, type Providers, renderPrompt } from '../../kernel/index.ts';
import type { Cleaning } from '../../trust/index.ts';

/** The most that a prompt may be with all bodies in it: a template may print one as often as it likes. */
const MOST_PLACED = 4 * 1024 * 1024;

export interface NamedText {
  readonly name: string;
  /** Whose it is; absent: the agent's, the conversation's or the kernel's. */
  readonly extensionId?: string;
  readonly text: string;
}

/**
 * Bodies of `uses_skills`, then the prompt template, then inline instructions. A template that prints `skills['id']`
 * gets that body there instead of on top. Bodies are values: inserted after rendering, byte for byte. `render` renders a
 * template of an extension: it gets a mark for each body, never the body.
 */
export async function instructionsOf(
  spec: AgentSpec,
  skills: readonly BoundSkill[],
  variables: Omit<PromptVariables, 'skills' | 'agent'>,
  render: (extensionId: string, prompt: PromptTemplate) => Promise<string>,
): Promise<readonly NamedText[]> {
  const placed = skills.map((skill) => ({ ...skill, token: skill.content === null ? '' : tokenOf(skill.name), text: wrapped(skill) }));
  const prompt = promptOf(spec, placed, variables);
  const rendered = await (spec.promptBy === undefined || !isTemplate(prompt.text) ? renderPrompt(prompt) : render(spec.promptBy, prompt));
  const onTop = placed.filter(({ token }) => token !== '' && !rendered.includes(token));
  const bodies = placed.filter(({ token }) => token !== '');
  refuseTooLong(rendered, bodies, spec.promptFile);
  return [
    ...onTop.map(({ name, text }) => ({ name: `skill ${name}`, text })),
    { name: 'prompt', text: withBodies(trimmed(rendered), bodies) },
    { name: 'instructions', text: trimmed(spec.instructions) },
  ].filter(({ text }) => text !== '');
}

interface Placed {
  readonly name: string;
  readonly token: string;
  readonly text: string;
}

function promptOf(spec: AgentSpec, placed: readonly Placed[], variables: Omit<PromptVariables, 'skills' | 'agent'>): PromptTemplate {
  const agent = { id: spec.id, name: spec.name, description: spec.description, model: spec.model };
  const skills = Object.fromEntries(placed.flatMap(({ name, token }) => namesFor(name).map((each) => [each, token])));
  return { text: spec.prompt ?? '', file: spec.promptFile, variables: { ...variables, agent, skills } };
}

/** How a template names an entry of `uses_skills`: a version also by the id of its skill. */
function namesFor(name: string): readonly string[] {
  const id = skillIdIn(name);
  return id === name ? [name] : [name, id];
}

/** Of an entry of `uses_skills`, which may be a version: `id@1.2.0`. */
export function skillIdIn(name: string): string {
  const at = name.lastIndexOf('@');
  return at > 0 ? name.slice(0, at) : name;
}

/** Throws before a text is made that nobody can hold. */
function refuseTooLong(text: string, placed: readonly Placed[], file: string | null): void {
  const length = placed.reduce((sum, each) => sum + (text.split(each.token).length - 1) * each.text.length, text.length);
  if (length <= MOST_PLACED) return;
  const message = `the prompt with the bodies of skills in it has ${length} characters, and ${MOST_PLACED} is the most`;
  throw new PithError('prompt_invalid', message, { where: file ?? undefined, cure: 'print each skill once' });
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

/** One entry of `uses_skills` as it is now: its content, or why there is none. */
export interface BoundSkill {
  /** As the manifest names it. */
  readonly name: string;
  readonly content: Awaited<ReturnType<SkillProvider['getSkillContent']>> | null;
  /** An `error` fails the agent, a `warning` degrades it; null when all is well. */
  readonly note: Diagnostic | null;
}

/** Reads bound skills and keeps the last good body of each, so that a removal does not take an agent down. */
export interface BoundSkills {
  read(agent: Pick<AgentSpec, 'id' | 'usesSkills'>, signal?: AbortSignal): Promise<readonly BoundSkill[]>;
}

/** What skills are read from; bodies are in prompts, and hold no secrets. */
interface SkillHost {
  readonly extensions: Pick<ExtensionFacts, 'keepsNames'>;
  readonly providers: Pick<Providers, 'active'>;
  readonly secrets: Pick<Cleaning, 'redactJson'>;
}

export function createBoundSkills({ extensions, providers, secrets }: SkillHost): BoundSkills {
  const lastGood = new Map<string, Awaited<ReturnType<SkillProvider['getSkillContent']>>>();

  async function readOne(provider: Remote<SkillProvider>, name: string, signal?: AbortSignal): Promise<BoundSkill> {
    try {
      const content = secrets.redactJson(await provider.getSkillContent(name, signal));
      if (content.stale !== undefined) return { name, content, note: staleNote(name, content.stale) };
      lastGood.set(name, content);
      return { name, content, note: null };
    } catch (error) {
      const kept = lastGood.get(name);
      const code = codeOf(error, 'provider_failed');
      if (code === 'skills_disabled') return { name, content: null, note: offNote(`skill '${name}' is left out: ${messageOf(error)}`) };
      if (code === 'skill_not_found' || code === 'skill_not_offered') {
        if (kept !== undefined && code === 'skill_not_found') return { name, content: kept, note: staleNote(name, 'it was removed') };
        return { name, content: null, note: refusal(code, name, error) };
      }
      // The provider itself is in trouble: that never silences an agent, unless it works by one version and by nothing else.
      const why = messageOf(error);
      if (kept !== undefined) return { name, content: kept, note: staleNote(name, `it cannot be read now (${why})`) };
      if (skillIdIn(name) !== name) return { name, content: null, note: refusal(code, name, error) };
      return { name, content: null, note: { severity: 'warning', code, message: `skill '${name}' is left out: ${why}` } };
    }
  }

  return {
    async read({ id, usesSkills: names }, signal) {
      if (names.length === 0) return [];
      let provider: Remote<SkillProvider> | undefined;
      let why = 'no running extension provides skills';
      try {
        [provider] = await providers.active(SkillProvider);
      } catch (error) {
        why = messageOf(error);
      }
      const found = provider;
      if (found === undefined) return names.map((name) => ({ name, content: null, note: offNote(`skill '${name}' is left out: ${why}`) }));
      const read = await Promise.all(names.map((name) => readOne(found, name, signal)));
      // A person who keeps a skill back from an agent that ships broke nothing.
      const isTheirs = (note: Diagnostic) => note.code === 'skill_not_offered' && extensions.keepsNames(id);
      return read.map((each) => (each.note && isTheirs(each.note) ? { ...each, note: { ...each.note, severity: 'warning' } } : each));
    },
  };
}

function offNote(message: string): Diagnostic {
  return { severity: 'warning', code: 'skills_disabled', message, cure: 'switch skills on to use it' };
}

function staleNote(name: string, why: string): Diagnostic {
  return {
    severity: 'warning',
    code: 'skill_not_found',
    message: `skill '${name}' is used as it was last read: ${why}`,
    cure: `restore it, or take '${name}' out of uses_skills`,
  };
}

/** A digest as a person reads it: its first digits. */
function shortened(name: string): string {
  return name.replace(/(@sha256:[0-9a-f]{12})[0-9a-f]+$/, '$1');
}

function refusal(code: string, name: string, error: unknown): Diagnostic {
  const cure = typeof error === 'object' && error !== null && 'cure' in error && typeof error.cure === 'string' ? error.cure : undefined;
  return {
    severity: code === 'skill_not_found' ? 'warning' : 'error', // a name that nothing has; else one that a person keeps back
    code,
    message: `uses_skills '${shortened(name)}': ${messageOf(error)}`,
    cure: cure ?? `make '${shortened(name)}' available, or take it out of uses_skills`,
  };
}

/** The variables of a prompt template. */
type PromptVariables = {
  readonly agent: Readonly<Record<'id' | 'name' | 'description' | 'model', string>>;
  /** By the name in `uses_skills`; of a version also by the id alone. */
  readonly skills: Readonly<Record<string, string>>;
  /** `extension/tool` by the name of each tool that the model has. */
  readonly tools: Readonly<Record<string, string>>;
  readonly sandbox_dir: string;
  /** `YYYY-MM-DD`, the day the thread began. */
  readonly date: string;
  readonly channel: string;
  readonly user: string;
};

const NONE: PromptVariables = {
  agent: { id: '', name: '', description: '', model: '' },
  skills: {},
  tools: {},
  sandbox_dir: '',
  date: '',
  channel: '',
  user: '',
};

export const PROMPT_VARIABLES: readonly string[] = Object.keys(NONE);

/** Findings of a prompt before it is ever rendered: syntax, what is not on the list of what a template may use, unknown names, unbound skills. */
export async function checkPrompt(text: string, file: string | null, bound: readonly string[]): Promise<readonly Diagnostic[]> {
  const skills = Object.fromEntries(bound.flatMap(namesFor).map((name) => [name, '']));
  const problems = await checkTemplate(text, { ...NONE, skills }, CLOSED_VARIABLES);
  return problems.map(({ code, message, cure, key, line, column }) => ({
    severity: 'error',
    code: code === 'template_invalid' ? 'prompt_invalid' : 'prompt_symbol_unknown',
    message,
    cure: key === undefined ? cure : `add '${key}' to uses_skills`,
    file: file ?? undefined,
    line,
    column,
  }));
}
