import type { Skill, Snapshot } from '../skill.ts';
import type { FoundSkill } from './found.ts';
import { candidateOf, filtersOf, judge, type Candidate } from './judge.ts';
import { RowMap } from './row-map.ts';
import type { SourcedScan } from './source-scans.ts';
import type { RegistryConfig } from './sources.ts';

/** The last edits that led to a snapshot: which ids the one after that generation may tell otherwise. */
const edits = new WeakMap<Snapshot, readonly { readonly generation: number; readonly ids: readonly string[] }[]>();
/** Who is further behind looks at every skill. */
const EDITS = 32;
/** More are made anew with all others, in pieces. */
const MOST = 500;

/**
 * The snapshot after an edit of the text of some skills: it costs what they are, not what all are. null where more may be different than
 * what is said of them, such as the name by which another goes.
 */
export function editSnapshot(
  before: Snapshot,
  edited: readonly FoundSkill[],
  scans: readonly SourcedScan[],
  config: RegistryConfig,
): Snapshot | null {
  if (before.generation === 0 || edited.length > MOST) return null;
  const filters = filtersOf(config);
  const winners = new Map<string, Skill>();
  const all = [...before.all];
  for (const { id } of edited) {
    if (winners.has(id)) continue;
    const from = firstOf(before.all, id);
    let to = from;
    while (before.all[to]?.id === id) to++;
    const candidates = before.all.slice(from, to).map((skill) => candidateAgain(skill, scans));
    if (candidates.length === 0 || !candidates.every((candidate) => candidate !== null)) return null;
    const judged = judge(candidates, filters);
    const isAsBefore = judged.every((skill, at) => {
      const earlier = before.all[from + at] as Skill;
      return skill.state === earlier.state && skill.name === earlier.name;
    });
    if (!isAsBefore) return null;
    for (const [at, skill] of judged.entries()) all[from + at] = skill;
    winners.set(id, judged.find(({ state }) => state === 'offered') ?? (judged[0] as Skill));
  }
  const skills = (before.skills instanceof RowMap ? (before.skills as RowMap<Skill>) : RowMap.of(before.skills)).with(winners);
  const snapshot = Object.freeze({ ...before, generation: before.generation + 1, skills, all });
  edits.set(snapshot, [...(edits.get(before) ?? []).slice(1 - EDITS), { generation: before.generation, ids: [...winners.keys()] }]);
  return snapshot;
}

/** The only ids that may be different; null where every id may. */
export function idsEditedSince({ generation }: Snapshot, snapshot: Snapshot): ReadonlySet<string> | null {
  const since = edits.get(snapshot)?.filter((edit) => edit.generation >= generation);
  return since?.[0]?.generation === generation ? new Set(since.flatMap(({ ids }) => ids)) : null;
}

function candidateAgain({ source, directory }: Skill, scans: readonly SourcedScan[]): Candidate | null {
  const sourced = scans.find((one) => one.source.label === source);
  const found = sourced?.scan.skills.get(directory);
  return sourced === undefined || found === undefined ? null : candidateOf(sourced, found);
}

/** `all` is sorted by id. */
function firstOf(all: readonly Skill[], id: string): number {
  let [low, high] = [0, all.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((all[middle] as Skill).id < id) low = middle + 1;
    else high = middle;
  }
  return low;
}
