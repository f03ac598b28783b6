import { componentsOf, type Digests, type SkillScript } from '@pith/skill-files';
import type { SkillRecord } from 'pith/skill_registry';
import { sha256 } from '@pith/plain-data';
import type { ScriptsConfig } from '../config.ts';

/** One script of a skill, as its bytes are now. */
export interface ScriptFile {
  /** Relative to the skill's folder: `scripts/…`. */
  readonly path: string;
  readonly sha256: string;
  /** How many other files the skill has: the script may load them. */
  readonly others: number;
  /** Of all of them, itself too, and of which can be run. */
  readonly allSha256: string;
  /** What the manifest says of it; null: nothing. */
  readonly declared: SkillScript | null;
}

/** The file that is meant, with or without the leading `scripts/`; null: there is none that may run. */
export function findScript(skill: Pick<SkillRecord, 'scripts'>, given: string, digests: Digests): ScriptFile | null {
  const path = pathOf(given);
  const file = path === null ? undefined : digests.get(path);
  if (path === null || file === undefined) return null;
  const all = [...digests].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, { sha256, executable }]) => [name, sha256, executable]);
  return {
    path,
    sha256: file.sha256,
    others: all.length - 1,
    allSha256: sha256(JSON.stringify(all)),
    declared: skill.scripts.find((script) => pathOf(script.path) === path) ?? null,
  };
}

/** What a person agrees to, all that decides what runs: this script of this skill with all of its files, what it is given, and what confines it. */
export function subjectOf({ id, source, realDirectory }: SkillPlace, script: ScriptFile, settings: Given): string {
  const { path, allSha256 } = script;
  return sha256(JSON.stringify([id, source, realDirectory, path, allSha256, passedNames(script, settings), settings.confinedBy]));
}

type SkillPlace = Pick<SkillRecord, 'id' | 'source' | 'realDirectory'>;
type Given = Pick<ScriptsConfig['scripts'], 'env'> & { readonly confinedBy: string };

/** The environment that it gets: what the manifest asks for and the settings allow. */
export function passedNames({ declared }: Pick<ScriptFile, 'declared'>, { env }: Pick<Given, 'env'>): readonly string[] {
  return (declared?.env ?? []).filter((name) => env.includes(name));
}

const FOLDER = 'scripts/';

function pathOf(given: string): string | null {
  const parts = componentsOf(given);
  if (parts === null) return null;
  const path = parts.join('/');
  return path.startsWith(FOLDER) ? path : `${FOLDER}${path}`;
}
