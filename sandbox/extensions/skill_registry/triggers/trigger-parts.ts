import type { ContextParts, TurnInfo } from 'pith';
import type { SkillBody } from '../bodies.ts';
import { catalogLine, clean } from '../catalog/brief.ts';
import { type Offer, OVER_BUDGET } from '../catalog/scope.ts';
import type { SkillLoad } from '../ledger/skill-use.ts';
import { renderEnvelope } from '../reading/envelope.ts';
import type { ToolPorts } from '../reading/read-skill.ts';
import { listResources } from '../reading/resource-list.ts';
import type { Skill } from '../skill.ts';
import { referenceOf, type TriggerDecision } from './decision.ts';
import { estimateTokens } from '../catalog/token-estimate.ts';

export type TriggerPorts = Pick<ToolPorts, 'context' | 'registry' | 'ledger' | 'cache'>;

/** What stands beside the user's message by this decision; what it tells and gives is recorded, unless the kernel waits no longer. */
export async function triggerParts(
  ports: TriggerPorts,
  decision: TriggerDecision,
  { snapshot, scope }: Pick<Offer, 'snapshot' | 'scope'>,
  turn: TurnInfo,
  signal?: AbortSignal,
): Promise<ContextParts | null> {
  const { catalog } = scope;
  const given = decision.tier > 1 ? await giveBodies(ports, decision, turn) : NOTHING;
  if (signal?.aborted) return null;
  const lines = linesOf(given);
  const registry = decision.tier === 2 ? registryText(catalog, lines) : null;
  const told = registry === null ? [] : registry.told === catalog.length ? 'all' : catalog.slice(0, registry.told);
  const rest = registry === null ? NOT_BROUGHT : OVER_BUDGET;
  const shown = [...given.held, ...given.documents.map((document) => document.key), ...given.tooMany];
  ports.ledger.offered(turn, { snapshot, scope, told, rest, shown });
  for (const load of given.loads) ports.ledger.record(turn, load);
  if (decision.tier === 0) return null;
  if (decision.tier === 1) return { turn: `[${catalog.length} skills available]` };
  if (registry !== null) lines.push(registry.text);
  return {
    ...(given.documents.length === 0 ? {} : { documents: given.documents }),
    ...(lines.length === 0 ? {} : { turn: lines.join('\n') }),
  };
}

const NOT_BROUGHT = 'no trigger brought it';

interface Given {
  readonly documents: readonly NonNullable<ContextParts['documents']>[number][];
  /** What the thread holds already. */
  readonly held: readonly string[];
  /** Those beyond the most that one message brings. */
  readonly tooMany: readonly string[];
  /** What is to be recorded. Of the documents, what the kernel takes counts. */
  readonly loads: readonly SkillLoad[];
}

const NOTHING: Given = { documents: [], held: [], tooMany: [], loads: [] };
/** A message that names more skills than this hands over no more texts. */
const MOST_BODIES = 50;

/** Bodies that the thread does not hold yet, or not as they are now. How many have room is the kernel's to say. */
async function giveBodies(ports: TriggerPorts, { chosen, active }: TriggerDecision, turn: TurnInfo): Promise<Given> {
  const documents: NonNullable<ContextParts['documents']>[number][] = [];
  const held: string[] = [];
  const loads: SkillLoad[] = [];
  const all = [...chosen, ...active];
  const bodies = await Promise.all(all.slice(0, MOST_BODIES).map((skill) => readable(ports, skill)));
  for (const [index, read] of bodies.entries()) {
    if (read === null) continue;
    const { skill, body } = read;
    const reference = referenceOf(skill);
    const carried = index >= chosen.length;
    const load: SkillLoad = {
      skillId: reference,
      state: 'loaded',
      how: 'trigger',
      sha256: body.sha256,
      ...(carried ? { carried } : {}),
    };
    const familiarity = await ports.ledger.familiarity(turn, load);
    if (familiarity === 'same') {
      held.push(reference);
      if (!carried) loads.push({ ...load, again: true });
      continue;
    }
    const text = await documentOf(skill, body, familiarity === 'changed');
    documents.push({ key: reference, digest: body.sha256, text, instead: noRoom(reference), line: `Skill ${clean(reference)} loaded` });
    loads.push(load);
  }
  return { documents, held, tooMany: all.slice(MOST_BODIES).map(referenceOf), loads };
}

function noRoom(reference: string): string {
  return `The skill ${quoted(reference)} fits too, but is too long to stand here: load it with read_skill.`;
}

async function readable({ registry, context }: TriggerPorts, skill: Skill): Promise<{ skill: Skill; body: SkillBody } | null> {
  try {
    const body = await registry.readBody(skill);
    return (await registry.isStillTrusted(skill)) ? { skill, body } : null; // asked after the read: it may have changed meanwhile
  } catch (error) {
    context.logger.warn('a skill that the message matches cannot be read', { id: skill.id, error: String(error) });
    return null;
  }
}

async function documentOf(skill: Skill, { body, sha256, stale }: SkillBody, changed: boolean): Promise<string> {
  const notes = [
    'note: this message brings the skill; follow it where it fits the request',
    ...(changed ? ['note: this skill has changed since it was given above; what follows replaces it'] : []),
    ...(stale === undefined ? [] : [`note: ${stale}`]),
  ];
  const resources = await listResources(skill.realDirectory);
  return renderEnvelope({ skill, sha256, text: body, part: 1, parts: 1, resources, notes });
}

function linesOf({ held, tooMany }: Given): string[] {
  const names = (references: readonly string[]) => {
    const shown = references.slice(0, NAMED).map(quoted);
    return `${shown.join(', ')}${references.length > NAMED ? ` and ${references.length - NAMED} more` : ''}`;
  };
  return [
    ...(held.length === 0 ? [] : [`Active skills: ${names(held)}. Their instructions stand above: follow those that fit the request.`]),
    ...(tooMany.length === 0 ? [] : [`These fit too; load them with read_skill: ${names(tooMany)}`]),
  ];
}

function quoted(reference: string): string {
  return `\`${clean(reference)}\``;
}

/** Ids that are named in a line; a message that names more skills is given them all the same. */
const NAMED = 8;

interface RegistryText {
  readonly text: string;
  /** Of how many skills, in their order, it says the name. */
  readonly told: number;
}

/** Names and brief descriptions of all skills, sorted by id, in what `before` leaves of 400 tokens. With many, briefs get shorter, then fewer are named. */
export function registryText(skills: readonly Skill[], before: readonly string[] = []): RegistryText {
  const room = BUDGET - before.reduce((sum, line) => sum + estimateTokens(line) + 1, 0) - FRAME;
  for (const limit of [160, 80, 50, 30]) {
    if (skills.length > MOST_LINES) break;
    const lines = skills.map((skill) => catalogLine(skill, limit));
    if (tokensOf(lines) <= room) return { text: [HEAD, ...lines, USE].join('\n'), told: skills.length };
  }
  const { lines, told } = fewer(skills, room);
  return { text: [HEAD, ...lines, USE].join('\n'), told };
}

const BUDGET = 400;
const HEAD = '[Available Skills]';
const USE = 'Name a skill to use it; read_skill(skill_id) loads its instructions.';
/** Tokens of the head, of the last line and of the line that counts the rest. */
const FRAME = 70;
/** No line has less than five tokens. */
const MOST_LINES = 80;

/** The first ones with a brief, as many as fit into half of the room; of the others the ids; at last how many more there are. */
function fewer(skills: readonly Skill[], room: number): { readonly lines: readonly string[]; readonly told: number } {
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
  return { lines: [...lines, ...rest], told: skills.length - more };
}

function tokensOf(lines: readonly string[]): number {
  return lines.reduce((sum, line) => sum + estimateTokens(line) + 1, 0);
}
