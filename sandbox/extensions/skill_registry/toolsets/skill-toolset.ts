import type { ToolProvider, TurnInfo } from 'pith';
import type { SkillScope } from '../catalog/scope.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Skill, Snapshot } from '../skill.ts';
import type { TriggerDecision } from '../triggers/decision.ts';

/** What the id of a skill stands behind where its tools are named: `toolset:<skill>/<tool>`. */
export const TOOLSET = 'toolset:';

/** Every skill whose toolset may run. */
export function skillsWithToolsets(snapshot: Snapshot): readonly Skill[] {
  const found = known.get(snapshot) ?? [...snapshot.skills.values()].filter(hasToolset);
  known.set(snapshot, found);
  return found;
}

const known = new WeakMap<Snapshot, readonly Skill[]>();

export function hasToolset({ state, toolsets }: Skill): boolean {
  return state === 'offered' && toolsets.length > 0;
}

export interface TurnSkills {
  readonly snapshot: Snapshot;
  readonly scope: SkillScope;
  readonly ledger: Ledger;
  /** Looks at its files: code runs only as a person trusted it. */
  isStillTrusted(skill: Skill): Promise<boolean>;
  /** What triggers bring to this turn; null in other modes. */
  matched(): Promise<Pick<TriggerDecision, 'chosen' | 'active'> | null>;
}

/** Of the skills that a turn has: those that its agent carries or names as `toolset:<id>`, and those whose text its thread holds or is about to get. Sorted by id. */
export async function toolsetsOfTurn(
  turn: TurnInfo,
  { snapshot, scope, ledger, matched, isStillTrusted }: TurnSkills,
): Promise<readonly Awaited<ReturnType<NonNullable<ToolProvider['getTurnTools']>>>[number][]> {
  if (skillsWithToolsets(snapshot).length === 0) return [];
  const named = turn.agent.usesTools.flatMap((entry) => /^toolset:([^/]+)/.exec(entry)?.[1] ?? []);
  const { chosen, active } = (await matched()) ?? { chosen: [], active: [] };
  const held = [...ledger.loadedIn(turn).map(({ skillId }) => skillId), ...[...chosen, ...active].map(({ id }) => id)];
  const ids = new Set([...scope.bound, ...named, ...held.filter((id) => scope.readable.has(id))]);
  const found = [...ids].sort().flatMap((id) => snapshot.skills.get(id) ?? []);
  const brought = found.filter(hasToolset).map(async (skill) => ((await isStillTrusted(skill)) ? [{ brought: TOOLSET + skill.id }] : []));
  return (await Promise.all(brought)).flat();
}
