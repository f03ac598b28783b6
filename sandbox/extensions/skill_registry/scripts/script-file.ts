import { createHash } from 'node:crypto';
import type { SkillScript } from '../format/fields.ts';
import { componentsOf } from '../reading/resource.ts';
import type { Skill } from '../skill.ts';
import type { Digests } from './skill-copy.ts';

/** One script of a skill, as its bytes are now. */
export interface ScriptFile {
  /** Relative to the skill's folder: `scripts/…`. */
  readonly path: string;
  readonly sha256: string;
  /** How many other files stand under `scripts/`: the script may load them. */
  readonly others: number;
  /** Of all of them, itself too. */
  readonly allSha256: string;
  /** What the manifest says of it; null: nothing. */
  readonly declared: SkillScript | null;
}

/** The file that is meant, with or without the leading `scripts/`; null: there is none that may run. */
export function findScript(skill: Pick<Skill, 'scripts'>, given: string, digests: Digests): ScriptFile | null {
  const path = pathOf(given);
  const sha256 = path === null ? undefined : digests.get(path);
  if (path === null || sha256 === undefined) return null;
  const all = [...digests].filter(([name]) => name.startsWith(FOLDER)).sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    path,
    sha256,
    others: all.length - 1,
    allSha256: createHash('sha256').update(JSON.stringify(all)).digest('hex'),
    declared: skill.scripts.find((script) => pathOf(script.path) === path) ?? null,
  };
}

/** What a person agrees to: this script with these files beside it, in this skill. */
export function subjectOf({ id, source, realDirectory }: Skill, { path, allSha256 }: ScriptFile): string {
  return createHash('sha256')
    .update(JSON.stringify([id, source, realDirectory, path, allSha256]))
    .digest('hex');
}

const FOLDER = 'scripts/';

function pathOf(given: string): string | null {
  const parts = componentsOf(given);
  if (parts === null) return null;
  const path = parts.join('/');
  return path.startsWith(FOLDER) ? path : `${FOLDER}${path}`;
}
