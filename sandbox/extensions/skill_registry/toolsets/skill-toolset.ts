import type { ExtensionContext, ToolProvider, TurnInfo } from 'pith';
import { stateFolder, type StateFolder } from '@pith/safe-files';
import type { SkillScope } from '../catalog/scope.ts';
import type { SkillLedger } from '../ledger/ledger.ts';
import type { Skill, Snapshot } from '../skill.ts';
import type { TriggerDecision } from '../triggers/decision.ts';
import type { ToolsetLoaded } from '../contract.ts';

/** What a turn is given of one tool, or of all of a toolset. */
export type TurnTool = Awaited<ReturnType<NonNullable<ToolProvider['getTurnTools']>>>[number];

/** What the id of a skill stands behind where its tools are named: `toolset:<skill>/<tool>`. */
export const TOOLSET = 'toolset:';

/** Every skill whose toolset may run. */
export function skillsWithToolsets(snapshot: Snapshot): readonly Skill[] {
  return [...snapshot.skills.values()].filter(hasToolset);
}

export function hasToolset({ state, toolsets }: Skill): boolean {
  return state === 'offered' && toolsets.length > 0;
}

export interface TurnSkills {
  readonly snapshot: Snapshot;
  readonly scope: SkillScope;
  readonly ledger: SkillLedger;
  /** Looks at its files: code runs only as a person trusted it. */
  isStillTrusted(skill: Skill): Promise<boolean>;
  /** What triggers bring to this turn; null in other modes. */
  matched(): Promise<Pick<TriggerDecision, 'chosen' | 'active'> | null>;
}

/** Of the skills that a turn has: those that its agent carries or names as `toolset:<id>`, and those whose text its thread holds or is about to get. Sorted by id. */
export async function toolsetsOfTurn(
  turn: TurnInfo,
  { snapshot, scope, ledger, matched, isStillTrusted }: TurnSkills,
): Promise<readonly TurnTool[]> {
  if (skillsWithToolsets(snapshot).length === 0) return [];
  const named = turn.agent.usesTools.flatMap((entry) => /^toolset:([^/]+)/.exec(entry)?.[1] ?? []);
  const { chosen, active } = (await matched()) ?? { chosen: [], active: [] };
  const held = [...(await ledger.loadedIn(turn)).map(({ skillId }) => skillId), ...[...chosen, ...active].map(({ id }) => id)];
  const ids = new Set([...scope.bound, ...named, ...held.filter((id) => scope.readable.has(id))]);
  const found = [...ids].sort().flatMap((id) => snapshot.skills.get(id) ?? []);
  const brought = found.filter(hasToolset).map(async (skill) => ((await isStillTrusted(skill)) ? [{ brought: TOOLSET + skill.id }] : []));
  return (await Promise.all(brought)).flat();
}

/** What came of a toolset when it was last loaded. */
export interface ToolsetOutcome {
  readonly at: number;
  readonly tools: readonly string[];
  /** What is wrong with modules, as sentences. */
  readonly problems: readonly string[];
}

const MOST = 500;

/** Keeps the outcomes by skill, for `pith skills explain`, which loads nothing. Only a cache: a file that is damaged is rewritten. */
export function keepOutcome({ dataDirectory, clock, logger }: ExtensionContext, { toolsetId, tools, problems }: ToolsetLoaded): void {
  const folder = stateFolder(dataDirectory);
  const all = read(folder);
  const former = all.get(toolsetId);
  if (former && JSON.stringify([former.tools, former.problems]) === JSON.stringify([tools, problems])) return;
  all.delete(toolsetId);
  all.set(toolsetId, { at: clock.now(), tools, problems });
  try {
    folder.writeNow(FILE, JSON.stringify([...all].slice(-MOST)));
  } catch (error) {
    logger.warn('what came of a toolset cannot be written down', { toolsetId, reason: String(error) });
  }
}

/** null: it has not been loaded yet. */
export function outcomeOf(dataDirectory: string, skillId: string): ToolsetOutcome | null {
  return read(stateFolder(dataDirectory)).get(skillId) ?? null;
}

const FILE = 'toolsets.json';

function read(folder: StateFolder): Map<string, ToolsetOutcome> {
  try {
    return new Map(JSON.parse(String(folder.read(FILE) ?? '[]')) as [string, ToolsetOutcome][]);
  } catch {
    return new Map(); // damaged, or no file of ours
  }
}
