import type { Skill, Snapshot } from '../skill.ts';

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
  return named.find((skill) => canonical(skill.source) === source) ?? named.find((skill) => isAt(skill, name));
}

/** Every form by which lists may name a skill, beside `source/group/id`. */
export function namesOf({ id, name, source }: Pick<Skill, 'id' | 'name' | 'source'>): readonly string[] {
  return [id, canonical(name), canonical(`${source}/${id}`)];
}

/** Whether the skill is at `source/group/id`. */
export function isAt({ source, directory }: Pick<Skill, 'source' | 'directory'>, address: string): boolean {
  const label = `${canonical(source)}/`;
  return address.startsWith(label) && canonical(directory).endsWith(`/${address.slice(label.length)}`);
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
