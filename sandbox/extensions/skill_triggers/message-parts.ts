import type { ContextParts, Logger, TurnInfo } from 'pith';
import { catalogLine, clean } from '@pith/skill-files';
import type { Remote } from 'pith';
import type { SkillLibrary, SkillRecord, SkillText } from 'pith/skill_registry';
import { someOf } from '@pith/plain-text';
import { mostTokens } from '@pith/token-count';
import { referenceOf, type TriggerDecision } from './decision.ts';

export interface PartsPorts {
  readonly library: Remote<SkillLibrary>;
  readonly logger: Logger;
}

/** The text of a matching skill. */
export interface TriggerLoad {
  readonly reference: string;
  readonly skill: SkillRecord;
  readonly sha256: string;
  /** The thread has it already, and only gets a pointer. */
  readonly again: boolean;
  /** It comes from an earlier message's match. */
  readonly carried: boolean;
}

/** The parts of a message, and what to report once its turn has begun. */
export interface MessageParts {
  readonly parts: ContextParts | null;
  readonly offered: readonly string[] | 'all';
  /** References of the skills that go with this message. */
  readonly shown: readonly string[];
  /** The texts; only those that the kernel accepts count. */
  readonly loads: readonly TriggerLoad[];
}

/** What goes with the user's message by this decision. `offered`: all skills that it may list, sorted by id. */
export async function messageParts(
  ports: PartsPorts,
  decision: TriggerDecision,
  offered: readonly SkillRecord[],
  turn: TurnInfo,
): Promise<MessageParts> {
  const given = decision.tier > 1 ? await giveBodies(ports, decision, turn) : NOTHING;
  const { documents, held, tooMany, loads } = given;
  const lines = linesOf(given);
  const registry = decision.tier === 2 ? registryText(offered, lines) : null;
  if (registry !== null) lines.push(registry.text);
  const listed = registry?.listed ?? 0;
  const beside = {
    ...(documents.length === 0 ? {} : { documents }),
    ...(lines.length === 0 ? {} : { turn: lines.join('\n') }),
  };
  return {
    parts: decision.tier === 0 ? null : decision.tier === 1 ? { turn: `[${offered.length} skills available]` } : beside,
    offered: listed > 0 && listed === offered.length ? 'all' : offered.slice(0, listed).map(({ id }) => id),
    shown: [...held, ...documents.map(({ key }) => key), ...tooMany],
    loads,
  };
}

interface Given {
  readonly documents: readonly NonNullable<ContextParts['documents']>[number][];
  /** What the thread has already. */
  readonly held: readonly string[];
  /** Skills beyond the limit of one message. */
  readonly tooMany: readonly string[];
  readonly loads: readonly TriggerLoad[];
}

const NOTHING: Given = { documents: [], held: [], tooMany: [], loads: [] };
/** The most texts of one message, however many skills it names. */
const MOST_BODIES = 50;

/** Bodies that the thread lacks or has in an older version. The kernel decides how many fit. */
async function giveBodies(ports: PartsPorts, { chosen, active }: TriggerDecision, turn: TurnInfo): Promise<Given> {
  const documents: NonNullable<ContextParts['documents']>[number][] = [];
  const held: string[] = [];
  const loads: TriggerLoad[] = [];
  const all = [...chosen, ...active];
  const texts = await Promise.all(all.slice(0, MOST_BODIES).map((skill) => textFor(ports, skill, turn)));
  for (const [index, read] of texts.entries()) {
    if (read === null) continue;
    const { skill, sha256, envelope, again } = read;
    const reference = referenceOf(skill);
    const carried = index >= chosen.length;
    if (again) held.push(reference);
    else
      documents.push({
        key: reference,
        digest: sha256,
        text: envelope,
        fallback: noRoom(reference),
        label: `Skill ${clean(reference)} loaded`,
      });
    if (!again || !carried) loads.push({ reference, skill, sha256, again, carried });
  }
  return { documents, held, tooMany: all.slice(MOST_BODIES).map(referenceOf), loads };
}

function noRoom(reference: string): string {
  return `The skill ${quoted(reference)} fits too, but is too long to be shown here: load it with read_skill.`;
}

const BRINGS = 'note: this message brings the skill; follow it where it fits the request';
const CHANGED = 'note: this skill has changed since it was given above; what follows replaces it';

/** The present text, and whether the conversation has it; null where it cannot be read. */
async function textFor(
  { library, logger }: PartsPorts,
  skill: SkillRecord,
  turn: TurnInfo,
): Promise<(SkillText & { readonly again: boolean }) | null> {
  const place = `${skill.source}/${skill.id}`;
  const held = turn.held.filter(({ key }) => key === referenceOf(skill)).map(({ digest }) => digest);
  try {
    const text = await library.readBody(place, [BRINGS]);
    const again = held.includes(text.sha256);
    // The digest of a long text's part begins with the text's digest.
    const isChanged = !again && held.some((digest) => !digest.startsWith(text.sha256));
    const read = isChanged ? await library.readBody(place, [BRINGS, CHANGED]) : text;
    return (await library.isTrusted(place)) ? { ...read, again } : null; // checked after the read, since it may have changed meanwhile
  } catch (error) {
    logger.warn('a skill that the message matches cannot be read', { id: skill.id, error: String(error) });
    return null;
  }
}

function linesOf({ held, tooMany }: Given): string[] {
  const names = (references: readonly string[]) => someOf(references.map(quoted), NAMED);
  return [
    ...(held.length === 0 ? [] : [`Active skills: ${names(held)}. Their instructions are above: follow those that fit the request.`]),
    ...(tooMany.length === 0 ? [] : [`These fit too; load them with read_skill: ${names(tooMany)}`]),
  ];
}

function quoted(reference: string): string {
  return `\`${clean(reference)}\``;
}

/** The most ids in a line; a message that names more skills still gets them. */
const NAMED = 8;

interface RegistryText {
  readonly text: string;
  /** How many skills, in order, it lists by name. */
  readonly listed: number;
}

/**
 * Names and brief descriptions of all skills, sorted by id, in what `before` leaves of 400 tokens. With many skills, the briefs get
 * shorter, then fewer skills are named.
 */
export function registryText(skills: readonly SkillRecord[], before: readonly string[] = []): RegistryText {
  const room = BUDGET - before.reduce((sum, line) => sum + mostTokens(line) + 1, 0) - FRAME;
  for (const limit of [160, 80, 50, 30]) {
    if (skills.length > MOST_LINES) break;
    const lines = skills.map((skill) => catalogLine(skill, limit));
    if (tokensOf(lines) <= room) return { text: [HEAD, ...lines, USE].join('\n'), listed: skills.length };
  }
  const { lines, listed } = fewer(skills, room);
  return { text: [HEAD, ...lines, USE].join('\n'), listed };
}

const BUDGET = 400;
const HEAD = '[Available Skills]';
const USE = 'Name a skill to use it; read_skill(skill_id) loads its instructions.';
/** Tokens of the head, of the last line and of the line that counts the rest. */
const FRAME = 70;
/** No line has fewer than five tokens. */
const MOST_LINES = 80;

/** The first skills with a brief, as many as fit into half of the room; then ids; then how many more there are. */
function fewer(skills: readonly SkillRecord[], room: number): { readonly lines: readonly string[]; readonly listed: number } {
  const lines: string[] = [];
  let left = room / 2;
  for (const skill of skills) {
    const line = catalogLine(skill, 50);
    left -= tokensOf([line]);
    if (left < 0) break;
    lines.push(line);
  }
  const ids = skills.slice(lines.length).map(({ id }) => clean(id));
  let shown = 0;
  let names = '';
  for (left = room - tokensOf(lines); shown < ids.length; shown++) {
    const next = shown === 0 ? `Others: ${ids[shown]!}` : `${names}, ${ids[shown]!}`;
    if (tokensOf([next]) > left) break;
    names = next;
  }
  const more = ids.length - shown;
  const rest = [...(shown === 0 ? [] : [names]), ...(more === 0 ? [] : [`${more} more — name one by its id to use it`])];
  return { lines: [...lines, ...rest], listed: skills.length - more };
}

function tokensOf(lines: readonly string[]): number {
  return lines.reduce((sum, line) => sum + mostTokens(line) + 1, 0);
}
