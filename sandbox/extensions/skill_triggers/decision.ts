import { once } from '@pith/promises';
import type { SkillRecord, SkillRecords } from 'pith/skill_registry';
import { fold, PhraseIndex } from './phrase-index.ts';
import type { TriggerIndex, TriggerMatch } from './trigger-index.ts';

/** What a message gets of the skills: 0 nothing, 1 their number, 2 their names, 3 the bodies of those that match. */
export interface TriggerDecision {
  readonly tier: 0 | 1 | 2 | 3;
  /** Why this tier, as a clause. */
  readonly why: string;
  /** All matching skills, best first. */
  readonly matches: readonly TriggerMatch[];
  /** The skills among them whose bodies come with the message. */
  readonly chosen: readonly SkillRecord[];
  /** Skills of earlier messages that still stay in, latest first. */
  readonly active: readonly SkillRecord[];
}

export interface DecisionInput {
  /** As the turn's agent sees them. */
  readonly records: SkillRecords;
  readonly index: TriggerIndex;
  /** The user's message. */
  readonly text: string;
  readonly maxSkills: number;
  /** Ids of the skills that the thread has used, latest first. */
  readonly recent: readonly string[];
  /** Skills that triggers matched in the thread's last turns, latest first. */
  readonly matched: readonly string[];
}

export async function decide({ records, index, text, maxSkills, recent, matched }: DecisionInput): Promise<TriggerDecision> {
  const offered = offeredIn(records);
  if (offered.length === 0) return { tier: 0, why: 'no skill is in scope', matches: [], chosen: [], active: [] };
  const inScope = new Set(offered.map(({ id }) => id));
  const matches = ranked(await index.match(text, (id) => inScope.has(id)), recent);
  const chosen = top(matches, maxSkills).map(({ skill }) => skill);
  const active = matched.flatMap((reference) => {
    const skill = records.all.find((one) => referenceOf(one) === reference);
    return skill !== undefined && inScope.has(skill.id) && !chosen.some(({ id }) => id === skill.id) ? skill : [];
  });
  return { ...tierOf(chosen, active, text, offered), matches, chosen, active };
}

/** The skills that may come with a message, sorted by id: without those in the agent's instructions. */
export function offeredIn({ skills, agent }: SkillRecords): readonly SkillRecord[] {
  const [readable, bound] = [new Set(agent?.readable), new Set(agent?.bound)];
  return skills.filter(({ id }) => readable.has(id) && !bound.has(id));
}

function tierOf(
  chosen: readonly SkillRecord[],
  active: readonly SkillRecord[],
  text: string,
  offered: readonly SkillRecord[],
): Pick<TriggerDecision, 'tier' | 'why'> {
  if (chosen.length > 0) return { tier: 3, why: 'the message matches skills' };
  if (asksForCapabilities(text)) return { tier: 2, why: 'the message asks what there is' };
  if (offered.every(({ triggers }) => triggers === null)) return { tier: 2, why: 'no skill has triggers' };
  if (active.length > 0) return { tier: 3, why: 'an earlier message matched skills' };
  return { tier: 1, why: 'the message matches no skill' };
}

/** How a thread stores a skill: its id, or `source/id` where another has that id. */
export function referenceOf({ id, source, state }: SkillRecord): string {
  return state === 'shadowed' ? `${source}/${id}` : id;
}

/** Best first: named, exact phrase, pattern, number of hits, recent use, id. `recent`: ids, latest first. */
function ranked(matches: readonly TriggerMatch[], recent: readonly string[]): readonly TriggerMatch[] {
  const place = new Map(recent.map((id, index) => [id, index] as const));
  const age = ({ skill }: TriggerMatch) => place.get(skill.id) ?? Infinity;
  return [...matches].sort(
    (a, b) =>
      Number(b.mentioned) - Number(a.mentioned) ||
      Number(b.phrase) - Number(a.phrase) ||
      Number(b.pattern) - Number(a.pattern) ||
      b.hits.length - a.hits.length ||
      (age(a) === age(b) ? 0 : age(a) - age(b)) ||
      (a.skill.id < b.skill.id ? -1 : 1),
  );
}

/** The first `most`, and all that are named. */
function top(matches: readonly TriggerMatch[], most: number): readonly TriggerMatch[] {
  return matches.filter(({ mentioned }, index) => mentioned || index < most);
}

/** Phrases that ask what there is when a message contains them as whole words. docs/skill-modes.md has the common ones. */
export const CAPABILITY_PHRASES: readonly string[] = [
  'what can you do',
  'what are you able to do',
  'what can you help me with',
  'what can you help with',
  'how can you help',
  'what can i ask you',
  'your capabilities',
  'your abilities',
  'your skills',
  'list skills',
  'list all skills',
  'list the skills',
  'list available skills',
  'show skills',
  'show all skills',
  'show the skills',
  'show available skills',
  'show me skills',
  'show me all skills',
  'show me the skills',
  'show me available skills',
  'available skills',
  'which skills',
  'what skills',
  'was kannst du',
  'welche skills',
  'que peux-tu faire',
  'que sais-tu faire',
  'qué puedes hacer',
  'o que você pode fazer',
  '你能做什么',
  '你会什么',
  '何ができますか',
  '何ができる',
  '무엇을 할 수 있',
];

/** Texts that ask it when they are the whole message. */
export const CAPABILITY_MESSAGES: readonly string[] = ['help', 'skills', 'capabilities', '/help', '/skills', '?'];

/** Whether a message asks what the agent can do. */
export function asksForCapabilities(message: string): boolean {
  const text = fold(message.slice(0, LONGEST));
  if (CAPABILITY_MESSAGES.includes(text.replace(/(?<=\p{L})[\s?!.]+$/u, ''))) return true;
  let asks = false;
  index().eachIn(text, () => (asks = true));
  return asks;
}

/** A longer message is not such a question. */
const LONGEST = 1000;

const index = once(() => {
  const made = new PhraseIndex<true>();
  for (const phrase of CAPABILITY_PHRASES) made.add(phrase, true);
  return made;
});

/** How a text matches one skill, as the first message of a conversation, for `pith skills explain`. */
export function explanationOf(skill: SkillRecord, text: string, { tier, why, matches, chosen }: TriggerDecision, maxSkills: number) {
  const at = matches.findIndex((one) => one.skill.id === skill.id);
  const hits = [...(matches[at]?.hits ?? [])];
  const rank = at === -1 ? null : at + 1;
  const isAdded = chosen.some(({ id }) => id === skill.id);
  const lines = [
    `triggers: '${text}' is of tier ${tier}, ${why}`,
    hits.length === 0
      ? 'triggers: the text matches no trigger of this skill'
      : `triggers: it has ${hits.join(', ')}${isAdded ? ', and brings its text' : '; others come before it'}`,
    ...(rank === null ? [] : [`triggers: rank ${rank} of ${matches.length}; at most ${maxSkills} are brought unless named (max_skills)`]),
  ];
  return { lines, json: { text, tier, why, hits, rank, of: matches.length, maxSkills, added: isAdded } };
}

/** The same for an agent with a catalog, which gets matches as suggestions only. */
export function suggestionOf(skill: SkillRecord, { matches, chosen }: TriggerDecision) {
  const hits = [...(matches.find((one) => one.skill.id === skill.id)?.hits ?? [])];
  const suggested = chosen.some(({ id }) => id === skill.id);
  const consequence = suggested ? ', so it is suggested with the message' : '; others come before it';
  return {
    lines: [`triggers: the text has ${hits.length === 0 ? 'none of this skill' : `${hits.join(', ')}${consequence}`}`],
    json: { hits, suggested },
  };
}
