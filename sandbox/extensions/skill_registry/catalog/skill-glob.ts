import { canonical, namesOf } from '../scan/names.ts';
import type { Skill } from '../skill.ts';

/** Whether one of the globs (`*` any characters, `?` one) is the skill's id, display name or `source/id`. */
export function matcher(given: readonly string[]): (skill: Skill) => boolean {
  const globs = given.map(canonical);
  if (globs.length === 0) return () => false;
  if (globs.includes('*')) return () => true;
  const exact = new Set(globs.filter((glob) => !/[*?]/.test(glob)));
  const patterns = globs.filter((glob) => !exact.has(glob));
  return (skill) => {
    const names = namesOf(skill);
    return names.some((name) => exact.has(name) || patterns.some((glob) => globMatches(glob, name)));
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
