import path from 'node:path';
import { type Diagnostic, PithError } from 'pith';
import { didYouMean, printableLine } from '@pith/plain-text';
import { entriesOf } from '@pith/safe-files';
import type { SkillRegistry } from '../registry.ts';
import type { Skill, Snapshot } from '../skill.ts';
import type { HistorySubject } from '../history/history-file.ts';
import { historySubject } from '../history/wanted.ts';
import { findSkill } from '../scan/names.ts';
import { namesVersion } from '../versions/versions.ts';
import type { Source } from '../scan/sources.ts';
import { canonical, DEPTH_LIMIT, idOf, realOf } from '@pith/skill-files';

/** The skill that a person means by an id, a display name, `source/id` or `id@version`. Throws `skill_not_found`, with what lies there instead. */
export async function wantedSkill({ sources, versions }: SkillRegistry, snapshot: Snapshot, reference: string): Promise<Skill> {
  const skill = findSkill(snapshot, reference);
  if (skill !== undefined) return skill;
  if (namesVersion(snapshot, reference)) return versions.find(snapshot, reference);
  const absent = whyAbsent(sources, snapshot, reference);
  if (absent !== null) {
    const { file, message, cure } = absent;
    const where = file === undefined ? '' : ` in ${file}`;
    throw new PithError('skill_not_found', printableLine(`'${reference}'${where} is not a skill: ${message}`), {
      where: file,
      cure: cure === undefined ? undefined : printableLine(cure),
    });
  }
  const hint = didYouMean(reference, [...snapshot.skills.keys(), ...snapshot.aliases.keys()]);
  throw new PithError('skill_not_found', `there is no skill named '${printableLine(reference)}'${hint}`, {
    cure: 'see pith skills list --all',
  });
}

/** The skill whose history a person means. Throws `skill_not_found`, or `history_absent` for a skill that lies elsewhere. */
export async function wantedSubject(registry: SkillRegistry, snapshot: Snapshot, reference: string): Promise<HistorySubject> {
  const found = historySubject(registry, snapshot, reference);
  if (found !== null) return found;
  const { id, source, directory } = await wantedSkill(registry, snapshot, reference);
  throw new PithError(
    'history_absent',
    printableLine(`the skill '${id}' has no history: it lies in '${source}', where Pith changes nothing`),
    {
      where: directory,
      cure: `to change it, copy its folder to ${registry.targets.map(({ place }) => place.label).join(' or ')}`,
    },
  );
}

/** What a person means by the argument of `skills trust`. */
export interface TrustTarget {
  readonly source: Source;
  /** The one that is meant; null: all of the source. */
  readonly skill: Skill | null;
  /** Those that can be trusted. */
  readonly skills: readonly Skill[];
  /** How many are invalid. */
  readonly left: number;
}

/** A source by its label or folder, or one skill. Throws `skill_not_found`. */
export function trustTarget({ sources }: SkillRegistry, snapshot: Snapshot, reference: string): TrustTarget {
  const named = canonical(reference).replace(/^\.\/|\/+$/g, '');
  const source = sources.find(({ label, directory }) => canonical(label) === named || directory === named);
  if (source !== undefined) {
    const all = snapshot.all.filter((skill) => skill.source === source.label);
    if (all.length === 0)
      throw new PithError('skill_not_found', `the source '${printableLine(source.label)}' has no skills`, {
        where: source.directory,
        cure: 'see pith skills list --all',
      });
    const skills = all.filter(({ state }) => state !== 'invalid');
    return { source, skill: null, skills, left: all.length - skills.length };
  }
  const skill = findSkill(snapshot, named);
  const its = skill && sources.find(({ label }) => label === skill.source);
  if (skill === undefined || its === undefined) {
    const labels = sources.filter(({ trusted }) => !trusted).map(({ label }) => label);
    throw new PithError(
      'skill_not_found',
      `there is no source of skills named '${printableLine(reference)}'${didYouMean(reference, labels)}`,
      {
        cure: 'name a source, or source/id for one skill; see: pith skills list --all',
      },
    );
  }
  if (skill.state === 'invalid')
    throw new PithError('not_allowed', printableLine(`skill '${skill.id}' is invalid: ${skill.reason ?? ''}`), {
      where: skill.file,
      cure: 'fix it first',
    });
  return { source: its, skill, skills: [skill], left: 0 };
}

/** Why nobody has to trust that source by hand. */
export function trustedWithoutAsking({ configured, label }: Source): string {
  if (configured) return 'the settings name the source';
  if (label === 'sandbox/skills') return "it is the sandbox's own folder";
  return label.startsWith('bundled') ? 'they come with Pith' : 'it is in your home folder';
}

const DEEPEST = 10;
const FOLDERS = 20_000;

/** Why something of that name in the sources is no skill; null where there is nothing of that name. For a person who asks: it looks everywhere. */
function whyAbsent(
  sources: readonly Source[],
  { diagnostics, all }: Snapshot,
  reference: string,
): Pick<Diagnostic, 'message' | 'cure' | 'file'> | null {
  const name = canonical(reference.slice(reference.lastIndexOf('/') + 1));
  const finding = diagnostics.find(({ file }) => file !== undefined && (idOf(file) === name || idOf(path.dirname(file)) === name));
  if (finding !== undefined) return finding;
  for (const source of [...sources].reverse()) {
    if (source.holdsDrafts === true) continue; // who may see a draft was given it
    const folder = folderNamed(source.directory, name);
    if (folder === null) continue;
    const skill = all.find(({ realDirectory }) => realDirectory === realOf(folder));
    if (skill !== undefined) {
      const why = skill.directory === folder ? 'it belongs to a plugin, and is' : 'it is a link to a skill that is';
      const ids = all.flatMap(({ id }) => (id === skill.id || id.endsWith(`:${name}`) ? [`'${id}'`] : []));
      return { file: folder, message: `${why} listed as '${skill.id}'`, cure: `name ${[...new Set(ids)].join(' or ')}` };
    }
    return { file: folder, ...reasonOf(folder.slice(source.directory.length + 1).split('/'), source) };
  }
  return null;
}

function reasonOf(parts: readonly string[], { directory, label }: Source): Pick<Diagnostic, 'message' | 'cure'> {
  const because = (message: string, cure: string) => ({ message, cure });
  const hidden = parts.find((part) => part.startsWith('.'));
  if (hidden !== undefined)
    return because(
      `it lies in the hidden folder '${hidden}' of ${label}, which is not looked into`,
      'give the folder a name without a dot',
    );
  if (parts.includes('node_modules'))
    return because(`it lies in node_modules of ${label}, which is not looked into`, 'copy it out of there');
  if (skillFileIn(path.join(directory, ...parts)) === null)
    return because(`it is a link in ${label} that leads to no skill, or back to where the search came from`, 'remove it');
  const outer = parts.slice(0, -1).find((_, at) => skillFileIn(path.join(directory, ...parts.slice(0, at + 1))) !== null);
  if (outer !== undefined)
    return because(`it lies inside the skill '${outer}', below which nothing is looked for`, 'move it beside that skill');
  if (parts.length > DEPTH_LIMIT) return because(`it lies more than ${DEPTH_LIMIT} folders deep in ${label}`, 'move it further up');
  return because(`its folder in ${label} was not looked into`, 'see pith skills list --all');
}

/** The first folder of that name that holds a skill file, or link of that name; links are not followed. */
function folderNamed(root: string, name: string): string | null {
  const waiting: { readonly folder: string; readonly depth: number }[] = [{ folder: root, depth: 0 }];
  for (let at = 0; at < waiting.length && at < FOLDERS; at++) {
    const { folder, depth } = waiting[at]!;
    if (depth > 0 && idOf(folder) === name && skillFileIn(folder) !== null) return folder;
    if (depth === DEEPEST) continue;
    for (const entry of entriesOf(folder)) {
      const at = path.join(folder, entry.name);
      if (entry.isSymbolicLink() && idOf(at) === name) return at;
      if (entry.isDirectory() && entry.name !== '.git') waiting.push({ folder: at, depth: depth + 1 });
    }
  }
  return null;
}

function skillFileIn(folder: string): string | null {
  return entriesOf(folder).find(({ name }) => name.toLowerCase() === 'skill.md')?.name ?? null;
}
