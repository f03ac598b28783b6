import { didYouMean, type Diagnostic } from 'pith';
import { slipOf } from '../format/checks.ts';
import type { Skill, Snapshot } from '../skill.ts';
import type { RegistryConfig } from './sources.ts';

/** Ids and names are compared in this form, so that a folder's decomposed name is found by composed text. */
export function canonical(name: string): string {
  return PLAIN.test(name) ? name : name.normalize('NFC');
}

const PLAIN = /^[\x20-\x7e]*$/;

/** The id of the skill in that folder. */
export function idOf(directory: string): string {
  return canonical(directory.slice(directory.lastIndexOf('/') + 1));
}

/** The skill that an id, a unique display name, `source/id` or `source/group/id` names, in whatever state; undefined when there is none. */
export function findSkill(snapshot: Snapshot, reference: string): Skill | undefined {
  const name = canonical(reference);
  const winner = snapshot.skills.get(name) ?? snapshot.skills.get(snapshot.aliases.get(name) ?? '');
  const cut = name.lastIndexOf('/');
  if (winner !== undefined || cut === -1) return winner;
  const [source, id] = [name.slice(0, cut), name.slice(cut + 1)];
  const named = snapshot.all.filter((skill) => skill.id === id);
  return (
    named.find((skill) => canonical(skill.source) === source) ??
    named.find(
      ({ source: label, directory }) =>
        name.startsWith(`${canonical(label)}/`) && canonical(directory).endsWith(`/${name.slice(canonical(label).length + 1)}`),
    )
  );
}

/** Every form by which lists of the settings may name a skill. */
export function namesOf({ id, name, source }: Pick<Skill, 'id' | 'name' | 'source'>): readonly string[] {
  return [id, canonical(name), canonical(`${source}/${id}`)];
}

/** Display names that one skill alone has → its id. What is not offered takes no name from what is. */
export function aliasesOf(skills: ReadonlyMap<string, Skill>): ReadonlyMap<string, string> {
  const aliases = new Map<string, string>();
  for (const offered of [true, false]) {
    const found = new Map<string, string | null>();
    for (const { id, name, state } of skills.values()) {
      const alias = canonical(name);
      if (alias === id || (state === 'offered') !== offered || state === 'invalid' || skills.has(alias) || aliases.has(alias)) continue;
      found.set(alias, found.has(alias) ? null : id);
    }
    for (const [alias, id] of found) if (id !== null) aliases.set(alias, id);
  }
  return aliases;
}

/** The known name that an entry misses by a letter or two; null when it is known, or misses all by more. */
export function nameMeant(entry: string, known: ReadonlySet<string>): string | null {
  return known.has(canonical(entry)) ? null : slipOf(entry, known);
}

/** Entries of the settings that name no skill. */
export function unknownIds(config: RegistryConfig, snapshot: Omit<Snapshot, 'diagnostics' | 'generation'>): Diagnostic[] {
  const found: Diagnostic[] = [];
  let known: Set<string> | null = null;
  for (const setting of ['allowed', 'disabled'] as const) {
    for (const id of config[setting] ?? []) {
      known ??= new Set(snapshot.all.flatMap(namesOf));
      if ((id === '*' && setting === 'allowed') || known.has(canonical(id))) continue;
      const meant = setting === 'disabled' ? nameMeant(id, known) : null;
      const hint = meant === null ? didYouMean(id, [...snapshot.skills.keys(), ...snapshot.aliases.keys()]) : `; it counts as '${meant}'`;
      found.push({
        severity: 'warning',
        code: 'setting_unknown_skill',
        message: `skills.${setting} names '${id}', which no source has${hint}`,
        cure: 'correct the id or remove it',
      });
    }
  }
  return found;
}
