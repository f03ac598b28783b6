import { slipsOf } from '@pith/plain-text';
import type { Skill } from '../skill.ts';
import { canonical, isAt, namesOf } from './names.ts';

export type Named = Pick<Skill, 'id' | 'name' | 'source' | 'directory'>;

/** A list that keeps skills back. */
export interface KeptBack {
  has(skill: Named): boolean;
  /** Entries that name no skill, each with the names of which it is a slip: what was meant must not be offered, so it has these, too. */
  readonly unknown: ReadonlyMap<string, readonly string[]>;
}

export function keptBack(entries: readonly string[], skills: readonly Named[]): KeptBack {
  const missing = unknownIn(entries, skills);
  const ids = new Map(missing.length === 0 ? [] : skills.flatMap((skill) => namesOf(skill).map((name) => [name, skill.id])));
  const meant = (entry: string): readonly string[] => {
    const names = isGlob(entry) ? [] : slipsOf(canonical(entry), ids.keys());
    return names.filter((name) => name === ids.get(name) || !names.includes(ids.get(name) ?? ''));
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

/** Whether one of the entries names the skill: an id, a display name, `source/id`, a glob of these (`*` any characters, `?` one), or `source/group/id`. */
export function matcher(given: readonly string[]): (skill: Named) => boolean {
  const entries = given.map(canonical);
  if (entries.length === 0) return () => false;
  if (entries.includes('*')) return () => true;
  const exact = new Set(entries.filter((entry) => !isGlob(entry)));
  const addresses = [...exact].filter((entry) => entry.includes('/'));
  const globs = entries.filter(isGlob);
  return (skill) => {
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
