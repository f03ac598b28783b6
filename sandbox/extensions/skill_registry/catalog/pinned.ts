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

/** A warning for each entry of an agent's `skills.pinned` that names no skill. */
export function unknownPins({ id, keys, origin }: AgentSpec, snapshot: Snapshot): readonly Diagnostic[] {
  return pinsIn(keys['skills']).flatMap((entry): readonly Diagnostic[] => {
    const known = isGlob(entry) ? snapshot.all.some(matcher([entry])) : findSkill(snapshot, entry) !== undefined;
    if (known) return [];
    const hint = isGlob(entry) ? '' : didYouMean(entry, [...snapshot.skills.keys(), ...snapshot.aliases.keys()]);
    const message = `agent '${id}': skills.pinned names '${entry}', which no source has${hint}`;
    const where = origin === null ? {} : { file: origin };
    return [{ severity: 'warning', code: 'setting_unknown_skill', message, cure: 'correct the id or remove it', ...where }];
  });
}

/** What is no list of texts is told where the agent's keys are checked. */
function pinsIn(skills: unknown): readonly string[] {
  const pinned = typeof skills === 'object' && skills !== null ? (skills as { readonly pinned?: unknown }).pinned : undefined;
  return Array.isArray(pinned) ? pinned.filter((entry) => typeof entry === 'string') : [];
}

function isGlob(entry: string): boolean {
  return /[*?]/.test(entry);
}
