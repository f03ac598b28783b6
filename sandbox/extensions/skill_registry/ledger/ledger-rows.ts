import type { ExtensionContext, TopicMap, TurnInfo } from 'pith';
import type { PackedExposure } from './exposure.ts';
import type { Entry } from './ledger-writer.ts';
import type { SkillHow, SkillLoad, SkillUse } from './skill-use.ts';

export type SqlRow = Awaited<ReturnType<ExtensionContext['database']['all']>>[number];

/** A load of a thread as its rows tell it. */
export interface StoredLoad {
  readonly load: SkillLoad;
  readonly turnId: string;
  readonly agentId: string;
  readonly compactions: number;
  readonly outlived: number;
}

export interface StoredThread {
  /** The newest turns, oldest first. */
  readonly turns: readonly string[];
  readonly loads: readonly StoredLoad[];
}

export function turnEntry({ id, threadId, agent }: TurnInfo, at: number, packed: PackedExposure | null, shown: readonly string[]): Entry {
  const exposure = 'INSERT OR IGNORE INTO skill_registry__exposures (digest, states) VALUES (?, ?)';
  const turn = `INSERT OR IGNORE INTO skill_registry__turns (id, thread, agent, at, exposure, shown)
    VALUES (?, ?, ?, ?, (SELECT id FROM skill_registry__exposures WHERE digest = ?), ?)`;
  return [
    ...(packed === null ? [] : [{ sql: exposure, values: [packed.digest, packed.states] }]),
    { sql: turn, values: [id, threadId, agent.id, at, packed?.digest ?? null, shown.length === 0 ? null : JSON.stringify(shown)] },
  ];
}

export function useEntry({ id, threadId, agent, compactions }: TurnInfo, use: SkillUse, at: number): Entry {
  const [how, sha256] = use.state === 'loaded' ? [use.how, use.sha256] : [null, null];
  const path = use.state === 'loaded' ? null : use.path;
  const exit = use.state === 'script_run' ? use.exit : null;
  return inserted([id, threadId, agent.id, use.skillId, at, use.state, how, sha256, path, exit, moreOf(use), compactions, compactions]);
}

export type Drop = Pick<SkillLoad, 'skillId' | 'sha256'> & Pick<TopicMap['thread.compacted'], 'threadId' | 'turnId' | 'compactions'>;

export function dropEntry({ threadId, turnId, skillId, sha256, compactions }: Drop, agentId: string, at: number): Entry {
  return inserted([turnId, threadId, agentId, skillId, at, 'dropped', null, sha256, null, null, null, compactions, compactions]);
}

function inserted(values: readonly (string | number | null)[]): Entry {
  const sql = `INSERT INTO skill_registry__uses (turn, thread, agent, skill, at, state, how, sha256, path, exit, more, compactions, outlived)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
  return [{ sql, values }];
}

/** The text was kept whole when its thread was compacted. */
export function keptEntry(threadId: string, { skillId, sha256 }: SkillLoad, compactions: number): Entry {
  const sql = `UPDATE skill_registry__uses SET outlived = ?
    WHERE thread = ? AND skill = ? AND sha256 = ? AND state = 'loaded' AND outlived = ?`;
  return [{ sql, values: [compactions, threadId, skillId, sha256, compactions - 1] }];
}

/** The newest turn of a thread, whichever process ran it; null: none. */
export async function newestTurn(database: ExtensionContext['database'], threadId: string): Promise<string | null> {
  const row = await database.get('SELECT id FROM skill_registry__turns WHERE thread = ? ORDER BY seq DESC LIMIT 1', threadId);
  return row === null ? null : String(row['id']);
}

export async function readThread(
  database: ExtensionContext['database'],
  threadId: string,
  turns: number,
  loads: number,
): Promise<StoredThread> {
  const newest = await database.all('SELECT id FROM skill_registry__turns WHERE thread = ? ORDER BY seq DESC LIMIT ?', threadId, turns);
  // After the turns: what another process writes in between is of a turn that is not known, so that the thread is read again.
  const rows = await database.all(
    `SELECT turn, agent, skill, how, sha256, more, compactions, outlived FROM skill_registry__uses
     WHERE thread = ? AND state = 'loaded' ORDER BY seq DESC LIMIT ?`,
    threadId,
    loads,
  );
  return { turns: newest.map(({ id }) => String(id)).reverse(), loads: rows.map(loadOf).reverse() };
}

function loadOf({ turn, agent, skill, how, sha256, more, compactions, outlived }: SqlRow): StoredLoad {
  const known = more === null ? {} : (JSON.parse(String(more)) as Partial<SkillLoad>);
  return {
    load: { skillId: String(skill), state: 'loaded', how: how as SkillHow, sha256: String(sha256), ...known },
    turnId: String(turn),
    agentId: String(agent),
    compactions: Number(compactions),
    outlived: Number(outlived),
  };
}

function moreOf(use: SkillUse): string | null {
  if (use.state !== 'loaded') return null;
  const { skillId: _skill, state: _state, how: _how, sha256: _sha, ...more } = use;
  return Object.keys(more).length === 0 ? null : JSON.stringify(more);
}
