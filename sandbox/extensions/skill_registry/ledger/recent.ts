import type { ExtensionContext } from 'pith';
import type { SqlRow } from './ledger-rows.ts';
import { unpack } from './exposure.ts';
import { hasTables } from './ledger-writer.ts';
import { stateIn, turnsWhere, usesWhere, type UsageFilter } from './usage.ts';

/** The one state of a skill in a turn: the last thing that was done with it, else what it was before. */
export interface SkillState {
  readonly state: 'filtered' | 'over_budget' | 'offered' | 'loaded' | 'resource_read' | 'script_run' | 'dropped' | 'unknown';
  /** What filtered it. */
  readonly why?: string;
  readonly how?: string;
  readonly sha256?: string;
  readonly path?: string;
  readonly exit?: number | null;
}

export interface SkillTurn extends SkillState {
  readonly turn: string | null;
  readonly thread: string;
  readonly agent: string;
  readonly at: number;
}

/** The newest turns, with the state that the skill had in each. */
export function recentTurns(
  database: ExtensionContext['database'],
  skillId: string,
  filter: UsageFilter,
  most: number,
): readonly SkillTurn[] {
  if (!hasTables(database)) return [];
  const [where, values] = turnsWhere(filter);
  const rows = database.all(
    `SELECT id, thread, agent, at, exposure, shown FROM skill_registry__turns WHERE ${where} ORDER BY seq DESC LIMIT ?`,
    ...values,
    most,
  );
  return rows.map((row) => ({
    turn: String(row['id']),
    thread: String(row['thread']),
    agent: String(row['agent']),
    at: Number(row['at']),
    ...stateOf(database, row, skillId),
  }));
}

/** What was done with the skill, the newest first. */
export function recentUses(
  database: ExtensionContext['database'],
  skillId: string,
  filter: UsageFilter,
  most: number,
): readonly SkillTurn[] {
  if (!hasTables(database)) return [];
  const [where, values] = usesWhere(filter);
  const rows = database.all(
    `SELECT turn, thread, agent, at, state, how, sha256, path, exit FROM skill_registry__uses WHERE skill = ? AND ${where} ORDER BY seq DESC LIMIT ?`,
    skillId,
    ...values,
    most,
  );
  return rows.map((row) => ({
    turn: row['turn'] === null ? null : String(row['turn']),
    thread: String(row['thread']),
    agent: String(row['agent']),
    at: Number(row['at']),
    ...usedState(row),
  }));
}

function stateOf(database: ExtensionContext['database'], { id, exposure, shown }: SqlRow, skillId: string): SkillState {
  const used = database.get(
    'SELECT state, how, sha256, path, exit FROM skill_registry__uses WHERE turn = ? AND skill = ? ORDER BY seq DESC LIMIT 1',
    String(id),
    skillId,
  );
  if (used !== null) return usedState(used);
  if (shown !== null && (JSON.parse(String(shown)) as string[]).includes(skillId)) return { state: 'offered' };
  const states = exposure === null ? null : database.get('SELECT states FROM skill_registry__exposures WHERE id = ?', Number(exposure));
  return (states === null ? null : stateIn(unpack(states['states'] as Uint8Array), skillId)) ?? { state: 'unknown' };
}

function usedState({ state, how, sha256, path, exit }: SqlRow): SkillState {
  return {
    state: state as SkillState['state'],
    ...(how === null ? {} : { how: String(how) }),
    ...(sha256 === null ? {} : { sha256: String(sha256) }),
    ...(path === null ? {} : { path: String(path) }),
    ...(state === 'script_run' ? { exit: exit === null ? null : Number(exit) } : {}),
  };
}
