import type { ExtensionContext } from 'pith';
import type { SqlRow } from './ledger-rows.ts';
import { IS_WORKER } from './skill-use.ts';
import { type Exposure, unpack } from './exposure.ts';
import { hasTables } from './ledger-writer.ts';

export interface UsageFilter {
  /** Milliseconds since the epoch. */
  readonly since: number;
  /** Absent: of all agents. */
  readonly agent?: string;
}

/** What became of one skill. `offered`, `overBudget` and `filtered` count turns, the others what was done. */
export interface SkillUsage {
  offered: number;
  overBudget: number;
  filtered: number;
  /** By the way that it was loaded. */
  readonly loaded: Record<string, number>;
  resources: number;
  scripts: number;
  dropped: number;
  lastUsed: number | null;
}

export interface Usage {
  readonly turns: number;
  readonly skills: ReadonlyMap<string, SkillUsage>;
}

/** What the ledger knows of all skills. */
export async function usage(database: ExtensionContext['database'], filter: UsageFilter): Promise<Usage> {
  const skills = new Map<string, SkillUsage>();
  const of = (id: string): SkillUsage => {
    let one = skills.get(id);
    if (one === undefined)
      skills.set(id, (one = { offered: 0, overBudget: 0, filtered: 0, loaded: {}, resources: 0, scripts: 0, dropped: 0, lastUsed: null }));
    return one;
  };
  if (!(await hasTables(database))) return { turns: 0, skills };
  let turns = 0;
  for await (const { exposure, count, shown } of exposuresOf(database, filter)) {
    turns += count;
    if (exposure === null) continue;
    const beside = (id: string) => shown.get(id) ?? 0;
    const offered = new Set(exposure.offered);
    for (const id of offered) of(id).offered += count;
    for (const [id, times] of shown) if (!offered.has(id)) of(id).offered += times;
    for (const id of exposure.overBudget) of(id).overBudget += count - beside(id);
    for (const ids of Object.values(exposure.filtered)) for (const id of ids) of(id).filtered += count - beside(id);
  }
  for (const row of await usesOf(database, filter)) add(of(String(row['skill'])), row);
  return { turns, skills };
}

/** In how many turns each reason kept the skill from being offered. */
export async function reasonsAgainst(
  database: ExtensionContext['database'],
  skillId: string,
  filter: UsageFilter,
): Promise<Readonly<Record<string, number>>> {
  const reasons: Record<string, number> = {};
  if (!(await hasTables(database))) return reasons;
  for await (const { exposure, count, shown } of exposuresOf(database, filter)) {
    const state = exposure === null ? null : stateIn(exposure, skillId);
    if (state === null || state.state === 'offered') continue;
    const why = state.why ?? 'over budget';
    const times = count - (shown.get(skillId) ?? 0);
    if (times > 0) reasons[why] = (reasons[why] ?? 0) + times;
  }
  return reasons;
}

/** What one skill was before a turn used it. */
export interface ExposedState {
  readonly state: 'offered' | 'over_budget' | 'filtered';
  readonly why?: string;
}

/** null: the skill was not known, or the agent carried it. */
function stateIn({ offered, overBudget, filtered }: Exposure, skillId: string): ExposedState | null {
  if (offered.includes(skillId)) return { state: 'offered' };
  if (overBudget.includes(skillId)) return { state: 'over_budget' };
  const why = Object.keys(filtered).find((reason) => filtered[reason]!.includes(skillId));
  return why === undefined ? null : { state: 'filtered', why };
}

interface Exposed {
  readonly exposure: Exposure | null;
  /** Turns that had it. */
  readonly count: number;
  /** In how many of these a skill stood beside the message. */
  readonly shown: ReadonlyMap<string, number>;
}

async function* exposuresOf(database: ExtensionContext['database'], filter: UsageFilter): AsyncIterable<Exposed> {
  const [where, values] = turnsWhere(filter);
  const groups = await database.all(
    `SELECT exposure, count(*) AS count FROM skill_registry__turns WHERE ${where} GROUP BY exposure`,
    ...values,
  );
  for (const { exposure: id, count } of groups) {
    const states = id === null ? null : await database.get('SELECT states FROM skill_registry__exposures WHERE id = ?', Number(id));
    const beside = await database.all(
      `SELECT shown FROM skill_registry__turns WHERE exposure IS ? AND shown IS NOT NULL AND ${where}`,
      id === null ? null : Number(id),
      ...values,
    );
    const shown = new Map<string, number>();
    for (const row of beside) for (const one of JSON.parse(String(row['shown'])) as string[]) shown.set(one, (shown.get(one) ?? 0) + 1);
    yield { exposure: states === null ? null : unpack(states['states'] as Uint8Array), count: Number(count), shown };
  }
}

async function usesOf(database: ExtensionContext['database'], filter: UsageFilter): Promise<SqlRow[]> {
  const [where, values] = usesWhere(filter);
  return database.all(
    `SELECT skill, state, how, count(*) AS count, max(at) AS at FROM skill_registry__uses WHERE ${where} GROUP BY skill, state, how`,
    ...values,
  );
}

function add(usage: SkillUsage, { state, how, count, at }: SqlRow): void {
  const times = Number(count);
  if (state === 'loaded') usage.loaded[String(how)] = (usage.loaded[String(how)] ?? 0) + times;
  if (state === 'resource_read') usage.resources += times;
  if (state === 'script_run') usage.scripts += times;
  if (state === 'dropped') usage.dropped += times;
  else usage.lastUsed = Math.max(usage.lastUsed ?? 0, Number(at));
}

/** Not those of agents that nobody made: a turn of `run_skill` counts as what its caller did. */
function turnsWhere(filter: UsageFilter): [string, (string | number)[]] {
  return whereOf(filter, IS_WORKER);
}

/** What was done with skills, each once: what a worker carries was told of its caller. */
function usesWhere(filter: UsageFilter): [string, (string | number)[]] {
  return whereOf(filter, `(how IS 'uses_skills' AND ${IS_WORKER})`);
}

function whereOf({ since, agent }: UsageFilter, not: string): [string, (string | number)[]] {
  const where = `at >= ? AND NOT ${not}`;
  return agent === undefined ? [where, [since]] : [`${where} AND agent = ?`, [since, agent]];
}

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
export async function recentTurns(
  database: ExtensionContext['database'],
  skillId: string,
  filter: UsageFilter,
  most: number,
): Promise<readonly SkillTurn[]> {
  if (!(await hasTables(database))) return [];
  const [where, values] = turnsWhere(filter);
  const rows = await database.all(
    `SELECT id, thread, agent, at, exposure, shown FROM skill_registry__turns WHERE ${where} ORDER BY seq DESC LIMIT ?`,
    ...values,
    most,
  );
  return Promise.all(rows.map(async (row) => ({ ...whenIn(row), turn: String(row['id']), ...(await stateOf(database, row, skillId)) })));
}

/** What was done with the skill, the newest first. */
export async function recentUses(
  database: ExtensionContext['database'],
  skillId: string,
  filter: UsageFilter,
  most: number,
): Promise<readonly SkillTurn[]> {
  if (!(await hasTables(database))) return [];
  const [where, values] = usesWhere(filter);
  const rows = await database.all(
    `SELECT turn, thread, agent, at, state, how, sha256, path, exit FROM skill_registry__uses WHERE skill = ? AND ${where} ORDER BY seq DESC LIMIT ?`,
    skillId,
    ...values,
    most,
  );
  return rows.map((row) => ({ ...whenIn(row), turn: row['turn'] === null ? null : String(row['turn']), ...usedState(row) }));
}

function whenIn({ thread, agent, at }: SqlRow): Pick<SkillTurn, 'thread' | 'agent' | 'at'> {
  return { thread: String(thread), agent: String(agent), at: Number(at) };
}

async function stateOf(database: ExtensionContext['database'], { id, exposure, shown }: SqlRow, skillId: string): Promise<SkillState> {
  const used = await database.get(
    'SELECT state, how, sha256, path, exit FROM skill_registry__uses WHERE turn = ? AND skill = ? ORDER BY seq DESC LIMIT 1',
    String(id),
    skillId,
  );
  if (used !== null) return usedState(used);
  if (shown !== null && (JSON.parse(String(shown)) as string[]).includes(skillId)) return { state: 'offered' };
  const states =
    exposure === null ? null : await database.get('SELECT states FROM skill_registry__exposures WHERE id = ?', Number(exposure));
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
