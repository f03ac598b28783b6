import type { Toolset, TurnInfo } from 'pith';
import type { SkillScope } from '../catalog/scope.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Skill, Snapshot } from '../skill.ts';
import type { TriggerDecision } from '../triggers/decision.ts';

/** What the kernel is told of a skill's toolsets; null where it has none that may run. */
export function toolsetOf({ id, realDirectory: directory, toolsets: modules, state }: Skill): Toolset | null {
  return state === 'offered' && modules.length > 0 ? { id, directory, modules } : null;
}

/** Of every skill that is offered. */
export function allToolsets(snapshot: Snapshot): readonly Toolset[] {
  const found = known.get(snapshot) ?? [...snapshot.skills.values()].flatMap((skill) => toolsetOf(skill) ?? []);
  known.set(snapshot, found);
  return found;
}

const known = new WeakMap<Snapshot, readonly Toolset[]>();

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
): Promise<readonly { readonly toolset: Toolset }[]> {
  if (allToolsets(snapshot).length === 0) return [];
  const named = turn.agent.usesTools.flatMap((entry) => /^toolset:([^/]+)/.exec(entry)?.[1] ?? []);
  const { chosen, active } = (await matched()) ?? { chosen: [], active: [] };
  const held = [...ledger.loadedIn(turn).map(({ skillId }) => skillId), ...[...chosen, ...active].map(({ id }) => id)];
  const ids = new Set([...scope.bound, ...named, ...held.filter((id) => scope.readable.has(id))]);
  const found = [...ids].sort().flatMap((id) => snapshot.skills.get(id) ?? []);
  const toolsets = await Promise.all(
    found.map(async (skill) => {
      const toolset = toolsetOf(skill);
      return toolset !== null && (await isStillTrusted(skill)) ? [{ toolset }] : [];
    }),
  );
  return toolsets.flat();
}
