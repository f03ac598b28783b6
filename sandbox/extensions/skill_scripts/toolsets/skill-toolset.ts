import { type ExtensionContext, messageOf, type Remote, type ToolProvider, type TurnInfo } from 'pith';
import { KEPT_VERSION, SkillMode, TOOLSET, type SkillLibrary, type SkillRecord, type SkillRecords } from 'pith/skill_registry';

/** What a turn is given of one tool, or of all of a toolset. */
export type TurnTool = Awaited<ReturnType<NonNullable<ToolProvider['getTurnTools']>>>[number];

/** Every skill whose toolset may run. */
export function skillsWithToolsets({ skills }: Pick<SkillRecords, 'skills'>): readonly SkillRecord[] {
  return skills.filter(hasToolset);
}

export function hasToolset({ state, toolsets }: SkillRecord): boolean {
  return state === 'offered' && toolsets.length > 0;
}

/** The id of its toolset: kept versions of a skill are there beside it, each with its own code. */
export function toolsetOf({ id, source }: Pick<SkillRecord, 'id' | 'source'>): string {
  const kept = `${KEPT_VERSION}sha256:`;
  return source.startsWith(kept) ? `${id}@${source.slice(kept.length, kept.length + 12)}` : id;
}

/** Of the skills that a turn has: those that its agent carries or names as `toolset:<id>`, and those whose text its thread holds or is about to get. Sorted by id. */
export async function toolsetsOfTurn(
  turn: TurnInfo,
  library: Pick<SkillLibrary, 'records' | 'isTrusted'>,
  context: Pick<ExtensionContext, 'find' | 'logger'>,
): Promise<readonly TurnTool[]> {
  const records = await library.records({ turn });
  const skills = skillsWithToolsets(records);
  if (skills.length === 0) return [];
  const named = turn.agent.usesTools.flatMap((entry) => /^toolset:([^/]+)/.exec(entry)?.[1] ?? []);
  const skillsOf = (mode: Remote<SkillMode>) =>
    mode.skillsFor(turn).catch((error: unknown) => {
      context.logger.debug(`the mode of '${mode.extensionId}' brings no toolsets to this turn: ${messageOf(error)}`);
      return [];
    });
  const ofModes = await Promise.all(context.find(SkillMode).map(skillsOf));
  const readable = new Set(records.agent?.readable);
  const held = [...turn.held.map(({ key }) => key), ...ofModes.flat()].filter((id) => readable.has(id));
  const wanted = new Set([...(records.agent?.bound ?? []), ...named, ...held]);
  const found = skills.filter(({ id }) => wanted.has(id));
  // Code runs only as a person trusted it.
  const trusted = await Promise.all(found.map(({ source, id }) => library.isTrusted(`${source}/${id}`)));
  return found.filter((_, index) => trusted[index]).map((skill) => ({ extension: TOOLSET + toolsetOf(skill) }));
}
