import type { ContextDocument, ContextParts, Logger, TurnInfo } from 'pith';
import type { SkillBody } from '../body.ts';
import { clean } from '../catalog/brief.ts';
import type { SkillScope } from '../catalog/scope.ts';
import { estimateTokens } from '../catalog/token-estimate.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { OVER_BUDGET, type Offer } from '../ledger/offer.ts';
import type { SkillLoad } from '../ledger/skill-use.ts';
import { renderEnvelope } from '../reading/envelope.ts';
import { listResources } from '../reading/resource-list.ts';
import type { Skill } from '../skill.ts';
import { referenceOf, type TriggerDecision } from './decision.ts';
import { registryText } from './registry-text.ts';

export interface TriggerPorts {
  readonly ledger: Ledger;
  readonly logger: Logger;
  readBody(skill: Skill): Promise<SkillBody>;
  isStillTrusted(skill: Skill): Promise<boolean>;
}

/** What stands beside the user's message by this decision; what it tells and gives is recorded. */
export async function triggerParts(
  ports: TriggerPorts,
  decision: TriggerDecision,
  { snapshot, scope }: Pick<Offer, 'snapshot' | 'scope'>,
  turn: TurnInfo,
): Promise<ContextParts | null> {
  const tell = (told: Offer['told'], rest: string, key: object) => ports.ledger.offered(turn, { snapshot, scope, told, rest, key });
  const { catalog } = scope;
  if (decision.tier !== 2) tell([], NOT_BROUGHT, scope);
  if (decision.tier === 0) return null;
  if (decision.tier === 1) return { turn: `[${catalog.length} skills available]` };
  const given = await giveBodies(ports, decision, turn);
  const lines = linesOf(given);
  if (decision.tier === 2) {
    const { text, told } = registryText(catalog, lines);
    tell(told === catalog.length ? 'all' : catalog.slice(0, told), OVER_BUDGET, keyOf(scope, told));
    lines.push(text);
  }
  return {
    ...(given.documents.length === 0 ? {} : { documents: given.documents }),
    ...(lines.length === 0 ? {} : { turn: lines.join('\n') }),
  };
}

const NOT_BROUGHT = 'no trigger matched';
const keys = new WeakMap<SkillScope, Map<number, object>>();

/** One object for each scope and number of its skills that is told. */
function keyOf(scope: SkillScope, told: number): object {
  const known = keys.get(scope) ?? new Map<number, object>();
  keys.set(scope, known);
  const key = known.get(told) ?? {};
  known.set(told, key);
  return key;
}

interface Given {
  readonly documents: ContextDocument[];
  /** What the thread holds now. */
  readonly held: string[];
  /** Those whose body has no room beside this message. */
  readonly tooLong: string[];
}

/** Bodies that the thread does not hold yet, or not as they are now, while there is room. */
async function giveBodies(ports: TriggerPorts, { chosen, active }: TriggerDecision, turn: TurnInfo): Promise<Given> {
  const given: Given = { documents: [], held: [], tooLong: [] };
  let room = turn.model.contextWindow === null ? ROOM : turn.model.contextWindow / 4;
  const bodies = await Promise.all([...chosen, ...active].map((skill) => readable(ports, skill)));
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
    const familiarity = ports.ledger.familiarity(turn, load);
    if (familiarity === 'same') {
      given.held.push(reference);
      if (!carried) ports.ledger.record(turn, { ...load, again: true });
      continue;
    }
    const text = await documentOf(skill, body, familiarity === 'changed');
    const tokens = estimateTokens(text);
    if (tokens > room) {
      given.tooLong.push(reference);
      continue;
    }
    room -= tokens;
    given.held.push(reference);
    given.documents.push({ key: reference, digest: body.sha256, text });
    ports.ledger.record(turn, load);
  }
  return given;
}

/** Tokens of all documents of a turn where the model's window is not known. */
const ROOM = 50_000;

async function readable(ports: TriggerPorts, skill: Skill): Promise<{ skill: Skill; body: SkillBody } | null> {
  try {
    const body = await ports.readBody(skill);
    return (await ports.isStillTrusted(skill)) ? { skill, body } : null; // asked after the read: it may have changed meanwhile
  } catch (error) {
    ports.logger.warn('a skill that the message matches cannot be read', { id: skill.id, error: String(error) });
    return null;
  }
}

async function documentOf(skill: Skill, { body, sha256, stale }: SkillBody, changed: boolean): Promise<string> {
  const notes = [
    ...(changed ? ['note: this skill has changed since it was given above; what follows replaces it'] : []),
    ...(stale === undefined ? [] : [`note: ${stale}`]),
  ];
  const resources = await listResources(skill.realDirectory);
  return renderEnvelope({ skill, sha256, text: body, part: 1, parts: 1, resources, notes });
}

function linesOf({ held, tooLong }: Given): string[] {
  const names = (references: readonly string[]) => {
    const shown = references.slice(0, NAMED).map((reference) => `\`${clean(reference)}\``);
    return `${shown.join(', ')}${references.length > NAMED ? ` and ${references.length - NAMED} more` : ''}`;
  };
  return [
    ...(held.length === 0 ? [] : [`Active skills: ${names(held)}. Their instructions stand above: follow those that fit the request.`]),
    ...(tooLong.length === 0 ? [] : [`These fit too, but are too long to stand here; load them with read_skill: ${names(tooLong)}`]),
  ];
}

/** Ids that are named in a line; a message that names more skills is given them all the same. */
const NAMED = 8;
