import { slipsOf } from '@pith/plain-text';
import { canonical } from '@pith/skill-files';
import type { Skill, Snapshot } from '../skill.ts';

/** The skill that an id, a unique display name, `source/id` or `source/group/id` names, in whatever state; undefined when there is none. */
export function findSkill(snapshot: Snapshot, reference: string): Skill | undefined {
  const name = canonical(reference);
  const winner = snapshot.skills.get(name) ?? snapshot.skills.get(snapshot.aliases.get(name) ?? '');
  const cut = name.lastIndexOf('/');
  if (winner !== undefined || cut === -1) return winner;
  const [source, id] = [name.slice(0, cut), name.slice(cut + 1)];
  return (
    snapshot.all.find((skill) => skill.id === id && canonical(skill.source) === source) ?? snapshot.all.find((skill) => isAt(skill, name))
  );
}

/** Every form by which lists may name a skill, beside `source/group/id`. Never the display name: that is what the skill says of itself. */
function namesOf({ id, source }: Pick<Skill, 'id' | 'source'>): readonly string[] {
  return [id, canonical(`${source}/${id}`)];
}

/** Whether the skill is at `source/group/id`. */
function isAt({ source, directory }: Pick<Skill, 'source' | 'directory'>, address: string): boolean {
  const label = `${canonical(source)}/`;
  return address.startsWith(label) && canonical(directory).endsWith(`/${address.slice(label.length)}`);
}

/** Display names that one skill alone has → its id. What is not offered takes no name from what is. */
export function aliasesOf(skills: ReadonlyMap<string, Skill>): ReadonlyMap<string, string> {
  const aliases = new Map<string, string>();
  for (const offered of [true, false]) {
    const found = new Map<string, string | null>();
    for (const { id, name, state } of skills.values()) {
      if (name === id || (state === 'offered') !== offered || state === 'invalid') continue;
      const alias = canonical(name);
      if (alias === id || skills.has(alias) || aliases.has(alias)) continue;
      found.set(alias, found.has(alias) ? null : id);
    }
    for (const [alias, id] of found) if (id !== null) aliases.set(alias, id);
  }
  return aliases;
}

export type Named = Pick<Skill, 'id' | 'name' | 'source' | 'directory'>;

/** A list that keeps skills back. */
export interface KeptBack {
  has(skill: Named): boolean;
  /** Entries that name no skill, each with the names of which it is a slip: what was meant must not be offered, so it has these, too. */
  readonly unknown: ReadonlyMap<string, readonly string[]>;
}

export function keptBack(entries: readonly string[], skills: readonly Named[]): KeptBack {
  const missing = unknownIn(entries, skills);
  const forms = new Map<string, string>();
  if (missing.length > 0)
    for (const skill of skills) {
      forms.set(canonical(skill.name), skill.id); // who denies by a display name means that skill
      for (const form of namesOf(skill)) forms.set(form, form);
    }
  const meant = (entry: string): readonly string[] => {
    const found = isGlob(entry) ? [] : slipsOf(canonical(entry), forms.keys()).map((form) => forms.get(form)!);
    return [...new Set(found)].filter((form) => !found.some((id) => form !== id && form.endsWith(`/${id}`)));
  };
  const unknown = new Map(missing.map((entry) => [entry, meant(entry)]));
  return { has: matcher([...entries, ...[...unknown.values()].flat()]), unknown };
}

/** The end of a message on such an entry. */
export function countsAs(names: readonly string[]): string {
  return `; it counts as ${names.map((name) => `'${name}'`).join(' and ')}`;
}

/** Entries of a list that name no skill. */
export function unknownIn(entries: readonly string[], skills: readonly Named[]): readonly string[] {
  return entries.filter((entry) => entry !== '*' && !skills.some(matcher([entry])));
}

export function isGlob(entry: string): boolean {
  return /[*?]/.test(entry);
}

/** Whether one of the entries names the skill: an id, `source/id`, a glob of these (`*` any characters, `?` one), or `source/group/id`. */
export function matcher(given: readonly string[]): (skill: Named) => boolean {
  const entries = given.map(canonical);
  if (entries.length === 0) return () => false;
  if (entries.includes('*')) return () => true;
  const exact = new Set(entries.filter((entry) => !isGlob(entry)));
  const addresses = [...exact].filter((entry) => entry.includes('/'));
  const globs = entries.filter(isGlob);
  const isById = addresses.length + globs.length === 0; // as mostly, among thousands of skills
  return (skill) => {
    if (isById || exact.has(skill.id)) return exact.has(skill.id);
    const isNamed = namesOf(skill).some((name) => exact.has(name) || globs.some((glob) => globMatches(glob, name)));
    return isNamed || addresses.some((address) => isAt(skill, address));
  };
}

/** Linear: a `*` that has matched once is only ever moved forward. */
function globMatches(glob: string, name: string): boolean {
  let [at, from, star, mark] = [0, 0, -1, 0];
  while (at < name.length) {
    if (from < glob.length && (glob[from] === '?' || (glob[from] === name[at] && glob[from] !== '*'))) {
      at++;
      from++;
    } else if (glob[from] === '*') {
      star = from++;
      mark = at;
    } else if (star >= 0) {
      from = star + 1;
      at = ++mark;
    } else return false;
  }
  while (glob[from] === '*') from++;
  return from === glob.length;
}
