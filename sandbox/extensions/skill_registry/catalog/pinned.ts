import { didYouMean, type AgentSpec, type Diagnostic } from 'pith';
import { canonical, findSkill, namesOf } from '../scan/names.ts';
import type { Skill, Snapshot } from '../skill.ts';
import { matcher } from './skill-glob.ts';

/** Ids of `skills`, sorted by id, that an agent's `skills.pinned` means: its entries in their order, what one glob matches by id. */
export function pinnedIds(skills: readonly Skill[], pinned: readonly string[]): readonly string[] {
  if (pinned.length === 0) return [];
  const byName = new Map<string, string[]>();
  for (const skill of skills) for (const name of new Set(namesOf(skill))) byName.set(name, [...(byName.get(name) ?? []), skill.id]);
  const ids = pinned.flatMap((entry) =>
    isGlob(entry) ? skills.filter(matcher([entry])).map(({ id }) => id) : (byName.get(canonical(entry)) ?? []),
  );
  return [...new Set(ids)];
}

/** Lists of ids under an agent's `skills`. */
const LISTS = ['allow', 'deny', 'pinned'] as const;

/**
 * A warning for each entry of an agent's `skills.allow`, `deny` and `pinned` that names no skill. What `allow` names may be missing, as
 * skills of a source that is left out are, unless the name is close to that of a skill.
 */
export function unknownSkills({ id, keys, origin }: AgentSpec, snapshot: Snapshot): readonly Diagnostic[] {
  const isKnown = (entry: string) =>
    isGlob(entry) ? entry === '*' || snapshot.all.some(matcher([entry])) : findSkill(snapshot, entry) !== undefined;
  return LISTS.flatMap((list) =>
    textsOf(keys['skills'], list)
      .filter((entry) => !isKnown(entry))
      .flatMap((entry): readonly Diagnostic[] => {
        const hint = isGlob(entry) ? '' : didYouMean(entry, [...snapshot.skills.keys(), ...snapshot.aliases.keys()]);
        if (list === 'allow' && hint === '') return [];
        const message = `agent '${id}': skills.${list} names '${entry}', which no source has${hint}`;
        const where = origin === null ? {} : { file: origin };
        return [{ severity: 'warning', code: 'setting_unknown_skill', message, cure: 'correct the id or remove it', ...where }];
      }),
  );
}

/** What is no list of texts is reported where the agent's keys are checked. */
function textsOf(skills: unknown, list: (typeof LISTS)[number]): readonly string[] {
  const entries = typeof skills === 'object' && skills !== null ? (skills as Readonly<Record<string, unknown>>)[list] : undefined;
  return Array.isArray(entries) ? entries.filter((entry) => typeof entry === 'string') : [];
}

function isGlob(entry: string): boolean {
  return /[*?]/.test(entry);
}
