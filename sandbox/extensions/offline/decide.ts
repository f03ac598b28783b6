import type { JsonValue } from 'pith';
import {
  answerFrom,
  answerFromNothing,
  answerGreeting,
  answerToolError,
  answerWithoutSkills,
  answerWithoutTools,
  answerWithoutTrigger,
  introduction,
  type Hints,
} from './answer.ts';
import type { Conversation, PastCall } from './conversation.ts';
import { fittingPassages } from './passages.ts';
import { bestMatch, parseSkillElements, parseSkillList } from './skill-list.ts';
import { parseSkillText, skillBeside, type SkillText } from './skill-text.ts';
import { overlap, termsOf } from './terms.ts';

export type Decision =
  | { readonly kind: 'call'; readonly tool: string; readonly input: JsonValue }
  | { readonly kind: 'answer'; readonly text: string };

const LIST = 'list_skills';
const READ = 'read_skill';
/** Loads a skill by its name; its description lists the skills. */
const SKILL = 'skill';
const MAX_QUERY = 400;

/** The librarian's next step. The first answer of a conversation ends with what it cannot do. */
export function decide(conversation: Conversation, hints: Hints): Decision {
  const decision = nextStep(conversation, hints);
  return decision.kind === 'call' || conversation.hasAnswered ? decision : answer(`${decision.text}\n\n${introduction(hints)}`);
}

/** Finds the fitting skill in the way that this agent gets skills, reads it, and answers from its text. */
function nextStep(conversation: Conversation, hints: Hints): Decision {
  const { question, tools } = conversation;
  const given = givenSkill(conversation);
  if (given !== null) return answer(answerFrom(given.id, given.text, question));
  const [list, read, skill] = [LIST, READ, SKILL].map((name) => tools.get(name));
  if (list !== undefined && read !== undefined) return bySearch(conversation, { list, read }, hints);
  if (skill !== undefined) return byDescription(conversation, hints);
  if (list !== undefined) return answer(answerWithoutTools([READ], hints));
  return read === undefined ? answer(answerWithoutSkills(hints)) : byTriggers(conversation, hints);
}

/** With two tools: one lists skills, ranked by the question, the other reads one. */
function bySearch(conversation: Conversation, { list, read }: { readonly list: string; readonly read: string }, hints: Hints): Decision {
  const { question, calls } = conversation;
  const greeting = asksForOverview(question);
  const listed = calls.findLast((call) => call.tool === LIST);
  if (listed === undefined) return { kind: 'call', tool: list, input: greeting ? {} : { query: question.slice(0, MAX_QUERY) } };
  if (!listed.ok) return answer(answerToolError(LIST, listed.output));
  const skills = parseSkillList(listed.output);
  if (greeting) return answer(answerGreeting(skills, hints));
  const match = bestMatch(question, skills, queryOf(listed) !== '');
  if (match !== null) return byReading(conversation, { name: READ, tool: read, input: { skill_id: match.id } }, match.id);
  const known = fromEarlier(conversation, READ);
  if (known !== null) return known;
  const everything = calls.findLast((call) => call.tool === LIST && call.ok && queryOf(call) === '');
  if (everything === undefined) return { kind: 'call', tool: list, input: {} };
  return answer(answerFromNothing(idsOf(parseSkillList(everything.output)), idsOf(skills), hints));
}

/** With one tool, whose description lists all skills. */
function byDescription(conversation: Conversation, hints: Hints): Decision {
  const { question, tools, descriptions } = conversation;
  const skills = parseSkillElements(descriptions.get(SKILL) ?? '');
  if (asksForOverview(question)) return answer(answerGreeting(skills, hints));
  const match = bestMatch(question, skills, false);
  if (match !== null)
    return byReading(conversation, { name: SKILL, tool: tools.get(SKILL) ?? SKILL, input: { skill_name: match.id } }, match.id);
  return fromEarlier(conversation, SKILL) ?? answer(answerFromNothing(idsOf(skills), [], hints));
}

/** With triggers: skills come with the message that triggers them; this one came with none, or with a list of them. */
function byTriggers(conversation: Conversation, hints: Hints): Decision {
  const { question, tools, beside } = conversation;
  const skills = beside.filter((part) => part.includes('[Available Skills]')).flatMap((part) => parseSkillList(part));
  if (skills.length > 0 && asksForOverview(question)) return answer(answerGreeting(skills, hints));
  const match = bestMatch(question, skills, false);
  if (match !== null)
    return byReading(conversation, { name: READ, tool: tools.get(READ) ?? READ, input: { skill_id: match.id } }, match.id);
  return fromEarlier(conversation, READ) ?? answer(answerWithoutTrigger(skills));
}

interface Reading {
  /** The plain name. */
  readonly name: string;
  readonly tool: string;
  readonly input: JsonValue;
}

function byReading(conversation: Conversation, { name, tool, input }: Reading, id: string): Decision {
  const result = conversation.calls.findLast((call) => call.tool === name && idOf(call) === id);
  if (result === undefined) return { kind: 'call', tool, input };
  if (!result.ok) return answer(answerToolError(name, result.output));
  const text = parseSkillText(result.output) ?? loadedBefore(conversation, name, id);
  if (text === null) return answer(answerToolError(name, `the text of '${id}' is no longer in this conversation; ask in a new one`));
  return answer(answerFrom(id, text, conversation.question));
}

/**
 * The skill whose text came with this message, or with an earlier one and is active. Of several, that with most of the question's words.
 */
function givenSkill({ question, beside, besideEarlier }: Conversation): { readonly id: string; readonly text: SkillText } | null {
  const active = beside.flatMap((part) => /^Active skills: (.*)$/m.exec(part)?.[1] ?? []).join(' ');
  const here = beside.flatMap((part) => skillBeside(part) ?? []);
  const earlier = besideEarlier.toReversed().flatMap((part) => skillBeside(part) ?? []);
  const wanted = termsOf(question);
  return [...here, ...earlier.filter(({ id }) => active.includes(`\`${id}\``))].reduce<ReturnType<typeof givenSkill>>((best, each) => {
    const fits = (one: typeof each) => overlap(wanted, `${one.id} ${one.text.body}`);
    return best === null || fits(each) > fits(best) ? each : best;
  }, null);
}

/** A follow-up question often shares no word with any description: the skill read before may still answer it. */
function fromEarlier(conversation: Conversation, tool: string): Decision | null {
  const last = conversation.earlierCalls.findLast((call) => call.tool === tool && call.ok);
  const id = last === undefined ? null : idOf(last);
  const text = id === null ? null : loadedBefore(conversation, tool, id);
  if (id === null || text === null || fittingPassages(conversation.question, text.body).length === 0) return null;
  return answer(answerFrom(id, text, conversation.question));
}

function loadedBefore(conversation: Conversation, tool: string, id: string): SkillText | null {
  for (const call of conversation.earlierCalls.toReversed()) {
    if (call.tool !== tool || !call.ok || idOf(call) !== id) continue;
    const text = parseSkillText(call.output);
    if (text !== null) return text;
  }
  return null;
}

function idsOf(skills: readonly { readonly id: string }[]): readonly string[] {
  return skills.map(({ id }) => id);
}

function asksForOverview(question: string): boolean {
  const text = question
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s']/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  if (text === '' || /^(?:hi|hello|hey|hallo|servus|good (?:morning|day|afternoon|evening)|thanks|thank you|help)(?: \S+){0,2}$/.test(text))
    return true;
  return /^(?:so |and |please )?(?:what can (?:you|i) do(?: here)?|who are you|what are you|(?:list|show)(?: me)?(?: all| your| the)*(?: available)? skills|(?:what|which) skills (?:do you have|are there|can you use|exist))$/.test(
    text,
  );
}

function idOf(call: PastCall): string | null {
  return field(call.input, 'skill_id') ?? field(call.input, 'skill_name');
}

function queryOf(call: PastCall): string {
  return field(call.input, 'query') ?? '';
}

function field(input: JsonValue, name: string): string | null {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return null;
  const value = (input as { readonly [key: string]: JsonValue | undefined })[name];
  return typeof value === 'string' ? value : null;
}

function answer(text: string): Decision {
  return { kind: 'answer', text };
}
