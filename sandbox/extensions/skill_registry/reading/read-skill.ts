import { type ExtensionContext, isToolResult, type ToolCall, type ToolResult, type TurnInfo } from 'pith';
import { counted, nearest, printableLine } from '@pith/plain-text';
import { findReadable, type ScopeCache, type SkillScope } from '../catalog/scope.ts';
import { findSkill } from '../scan/names.ts';
import type { SkillsConfig } from '../config.ts';
import type { SkillRegistry } from '../registry.ts';
import type { SkillSearch } from '../search/skill-search.ts';
import { clean, listResources } from '@pith/skill-files';
import { countTokens } from '@pith/token-count';
import { allowedTools } from '../modes/allowed-tools.ts';
import { digestOf, type SkillLoad, type SkillTurns } from '../turns.ts';
import type { Skill, Snapshot } from '../skill.ts';
import { renderEnvelope, renderPointer } from './envelope.ts';
import { type Failed, noLongerTrusted, skillError, skillResult } from './results.ts';

/** What the tools use of the extension. */
export interface ToolPorts {
  readonly context: ExtensionContext<SkillsConfig>;
  readonly registry: SkillRegistry;
  readonly turns: SkillTurns;
  readonly cache: ScopeCache;
  readonly search: SkillSearch;
  /** The tools that turns of `run_skill` have, by their thread, while they run; null until they are known. */
  readonly workers: Map<string, readonly string[] | null>;
}

/** Runs with the skill that the call's agent means by a name, or says why there is none. `search`: how that agent finds one; default: list_skills. */
export async function withSkill(
  ports: ToolPorts,
  asked: string | { readonly name: string; readonly search: string },
  { turn }: Pick<ToolCall, 'turn'>,
  run: (skill: Skill) => Promise<ToolResult>,
): Promise<ToolResult> {
  const { name, search = undefined } = typeof asked === 'string' ? { name: asked } : asked;
  const found = await skillFor(ports, name, turn, search);
  if (isToolResult(found)) return found;
  const result = await run(found);
  return (await ports.registry.isStillTrusted(found)) ? result : noLongerTrusted(found); // it may have changed while it was read
}

/** The skill that an agent may use now, or the error that says what to do instead. */
export async function skillFor(
  ports: Pick<ToolPorts, 'registry' | 'cache' | 'turns'>,
  name: string,
  turn: TurnInfo,
  search?: string,
): Promise<Skill | Failed> {
  const snapshot = await ports.turns.snapshotOf(turn);
  const found = requireSkill(snapshot, ports.cache.scope(snapshot, turn.agent), name, search);
  return isToolResult(found) ? found : ((await ports.registry.usable(found)) ?? noLongerTrusted(found));
}

/** One part of a skill's body, and what the turn is said to have loaded by it. */
interface LoadedPart {
  readonly load: SkillLoad;
  readonly text: string;
  readonly parts: number;
  readonly stale: string | undefined;
}

/** The part as it is on disk now, or the error for one that the body does not have. */
export async function loadPart(
  { registry }: Pick<ToolPorts, 'registry'>,
  skill: Skill,
  part: number,
  how: 'read_skill' | 'skill',
): Promise<LoadedPart | Failed> {
  const { body, sha256, stale } = await registry.readBody(skill);
  const parts = partsOf(body);
  const text = parts[part - 1];
  const count = parts.length;
  if (text === undefined)
    return skillError('part_not_found', `Skill '${printableLine(skill.id)}' has ${counted(count, 'part')}; part ${part} does not exist.`);
  return { load: { skillId: skill.id, state: 'loaded', how, sha256, ...(count === 1 ? {} : { part }) }, text, parts: count, stale };
}

/** One part of a skill's body in its envelope, or a pointer where the thread has it already. */
export async function readSkill(ports: ToolPorts, skill: Skill, part: number, call: ToolCall): Promise<ToolResult> {
  const loaded = await loadPart(ports, skill, part, 'read_skill');
  if (isToolResult(loaded)) return loaded;
  const { load, text, parts, stale } = loaded;
  const { sha256 } = load;
  const status = ports.turns.loadStatus(call.turn, load);
  if (status === 'same') {
    ports.turns.record(call.turn, { ...load, again: true });
    return skillResult(renderPointer(skill.id, sha256, part, parts), skill, { title: titleOf(skill) });
  }
  const resources = await listResources(skill.realDirectory);
  const notes = [
    ...(status === 'changed' ? ['note: this skill has changed since it was loaded above; what follows replaces it'] : []),
    ...(stale === undefined ? [] : [`note: ${stale}`]),
    ...missingTools(skill, call),
  ];
  call.signal.throwIfAborted();
  ports.turns.record(call.turn, load);
  const output = renderEnvelope({ skill, sha256, text, part, parts, resources, notes });
  return skillResult(output, skill, { title: titleOf(skill, text), retain: { key: skill.id, digest: digestOf(load, call.turn) } });
}

/** `text`: what of it was read just now. */
export function titleOf({ id }: Pick<Skill, 'id'>, text?: string): string {
  const loaded = `Skill ${printableLine(id)} loaded`;
  return text === undefined ? loaded : `${loaded} (${countTokens(text).toLocaleString('en')} tokens)`;
}

/** `allowed-tools` is advice here: what it names and nobody has is said, so that no model looks for it. */
function missingTools({ allowedTools: entries, toolsets }: Skill, { turn }: ToolCall): readonly string[] {
  const { missing, patterns } = allowedTools(entries, turn.tools);
  const without = [...missing, ...patterns];
  const yet = toolsets.length === 0 ? '' : ' yet (its own come with the next step)';
  return without.length === 0 ? [] : [`note: of the allowed tools you do not have${yet}: ${without.map(clean).join(', ')}`];
}

/** The skill that is meant, or the error that says what to do instead. */
function requireSkill(snapshot: Snapshot, scope: SkillScope, given: string, search = 'Search with list_skills(query).'): Skill | Failed {
  const name = given.trim();
  if (name === '') return skillError('skill_name_required', `A skill id is required. ${search}`);
  const skill = findReadable(snapshot, scope, name);
  if (skill !== undefined) return skill;
  const waiting = findSkill(snapshot, name);
  if (waiting?.state === 'untrusted' && scope.allows(waiting) && !scope.denies(waiting)) return noLongerTrusted(waiting);
  const ids = [...scope.readable.keys()].sort();
  const near = nearest(name, ids, 3);
  const shown = printableLine(name, 81);
  return skillError(
    'skill_not_found',
    [
      `Skill '${shown}' was not found; it may have been removed.`,
      ...(near.length === 0 ? [] : [`Nearest: ${near.map((id) => printableLine(id)).join(', ')}.`]),
      ids.length <= 20
        ? ids.length === 0
          ? 'There are no skills.'
          : `All skills: ${ids.map((id) => printableLine(id)).join(', ')}.`
        : search,
    ].join(' '),
  );
}

/** Of a body in one part, whichever tool reads it. */
export const PART_TOKENS = 16_000;

/** Cuts a long text at line ends, else between characters; joined again the parts are the text. */
function partsOf(text: string): readonly string[] {
  const limit = PART_TOKENS * 4;
  const parts: string[] = [];
  let from = 0;
  while (text.length - from > limit) {
    const end = cutBefore(text, from, from + limit);
    parts.push(text.slice(from, end));
    from = end;
  }
  parts.push(text.slice(from));
  return parts;
}

function cutBefore(text: string, from: number, latest: number): number {
  const line = text.lastIndexOf('\n', latest - 1) + 1;
  if (line > from + (latest - from) / 2) return line;
  const unit = text.charCodeAt(latest);
  return unit >= 0xdc00 && unit <= 0xdfff ? latest - 1 : latest; // not between the halves of a character
}
