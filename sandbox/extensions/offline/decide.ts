import type { JsonValue } from 'pith';
import { answerFrom, answerFromNothing, answerGreeting, answerToolError, answerWithoutTools } from './answer.ts';
import type { Conversation, PastCall } from './conversation.ts';
import { fittingPassages } from './passages.ts';
import { bestMatch, parseSkillList } from './skill-list.ts';
import { parseSkillText, type SkillText } from './skill-text.ts';

export type Decision =
  | { readonly kind: 'call'; readonly tool: string; readonly input: JsonValue }
  | { readonly kind: 'answer'; readonly text: string };

const LIST = 'list_skills';
const READ = 'read_skill';
const MAX_QUERY = 400;

/** The next step of the librarian: list the skills, read the one that fits, answer from its text. */
export function decide(conversation: Conversation): Decision {
  const { question, calls, tools } = conversation;
  const list = tools.get(LIST);
  const read = tools.get(READ);
  if (list === undefined || read === undefined) {
    return answer(answerWithoutTools([...(list === undefined ? [LIST] : []), ...(read === undefined ? [READ] : [])]));
  }

  const greeting = asksForOverview(question);
  const listed = calls.findLast((call) => call.tool === LIST);
  if (listed === undefined) return { kind: 'call', tool: list, input: greeting ? {} : { query: question.slice(0, MAX_QUERY) } };
  if (!listed.ok) return answer(answerToolError(LIST, listed.output));
  const skills = parseSkillList(listed.output);
  if (greeting) return answer(answerGreeting(skills));

  const match = bestMatch(question, skills);
  if (match === null)
    return answerWithoutMatch(
      conversation,
      list,
      skills.map((skill) => skill.id),
    );
  const result = calls.findLast((call) => call.tool === READ && idOf(call) === match.id);
  if (result === undefined) return { kind: 'call', tool: read, input: { skill_id: match.id } };
  if (!result.ok) return answer(answerToolError(READ, result.output));
  const text = parseSkillText(result.output) ?? loadedBefore(conversation, match.id);
  if (text === null) return answer(answerToolError(READ, `the text of '${match.id}' is no longer in this conversation; ask in a new one`));
  return answer(answerFrom(match.id, text, question));
}

/** A follow-up question often shares no word with any description: the skill read before may still answer it. */
function answerWithoutMatch(conversation: Conversation, list: string, found: readonly string[]): Decision {
  const last = conversation.earlierCalls.findLast((call) => call.tool === READ && call.ok);
  const id = last === undefined ? null : idOf(last);
  const text = id === null ? null : loadedBefore(conversation, id);
  if (id !== null && text !== null && fittingPassages(conversation.question, text.body).length > 0) {
    return answer(answerFrom(id, text, conversation.question));
  }
  const everything = conversation.calls.findLast((call) => call.tool === LIST && call.ok && queryOf(call) === '');
  if (everything === undefined) return { kind: 'call', tool: list, input: {} };
  return answer(
    answerFromNothing(
      parseSkillList(everything.output).map((skill) => skill.id),
      found,
    ),
  );
}

function loadedBefore(conversation: Conversation, id: string): SkillText | null {
  for (const call of conversation.earlierCalls.toReversed()) {
    if (call.tool !== READ || !call.ok || idOf(call) !== id) continue;
    const text = parseSkillText(call.output);
    if (text !== null) return text;
  }
  return null;
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
  return field(call.input, 'skill_id');
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
