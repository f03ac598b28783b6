import { randomUUID } from 'node:crypto';
import { existsSync, renameSync } from 'node:fs';
import path from 'node:path';
import { codeOf, PithError, type Remote } from 'pith';
import { printableLine } from '@pith/plain-text';
import { sha256 } from '@pith/plain-data';
import { stateFolder } from '@pith/safe-files';
import { realOf, treeDigest } from '@pith/skill-files';
import { SkillLibrary, type SkillPlace, type SkillRecord, SkillWriter } from 'pith/skill_registry';
import type { Context } from '../config.ts';
import { mergedTrees } from '../change/merged-trees.ts';
import { type NextVersion, nextVersion } from '../change/next-version.ts';
import { plannedChange } from '../change/planned-change.ts';
import { readSkillTree, skillFileIn, type SkillTree, writeSkillTree } from '../change/skill-tree.ts';
import { contentDigest, type Proposal } from './proposal.ts';

/** A folder that nobody changes. */
export interface KeptFolder {
  readonly directory: string;
  /** Of all that it holds. */
  readonly digest: string;
}

/** Where a skill is written. */
export interface Target {
  readonly place: SkillPlace;
  /** Relative to the place's skills. */
  readonly folder: string;
  /** The skill lies where Pith writes nothing: the change is made in a copy of the project, which wins from then on. */
  readonly isOwnCopy: boolean;
}

/** A proposal on the skill as it is now. */
export interface Fitted {
  readonly skill: SkillRecord;
  readonly present: KeptFolder;
  readonly after: KeptFolder;
  readonly target: Target;
  readonly version: NextVersion;
  /** The skill changed since the proposal was made, and both changes are in `after`. */
  readonly isMerged: boolean;
  /** The skill has this change already. */
  readonly isDone: boolean;
}

export type Fit = Fitted | { readonly conflicts: readonly string[] };

const FOLDER = 'candidates';

/** Makes skills as proposals would have them, in the data folder. */
export class Candidates {
  readonly #library: Remote<SkillLibrary>;
  readonly #writer: Remote<SkillWriter>;

  constructor(private readonly context: Context) {
    this.#library = context.use(SkillLibrary);
    this.#writer = context.use(SkillWriter);
  }

  /** The skills that count, by their ids. `'now'`: by a new look, for who decides by it; else the last one is enough. */
  async skills(look?: 'now'): Promise<ReadonlyMap<string, SkillRecord>> {
    const { skills } = await this.#library.records(look);
    return new Map(skills.map((skill) => [skill.id, skill]));
  }

  /** The skill of that id that counts, kept as it is now. Rejects `skill_not_found` and `skill_not_offered`, and where it cannot be kept. `found`: it, for who has just looked. */
  async present(reference: string, found?: SkillRecord): Promise<{ readonly skill: SkillRecord; readonly kept: KeptFolder }> {
    const skill = found ?? (await this.#library.named(reference));
    if (skill.state !== 'offered')
      throw new PithError(
        'skill_not_offered',
        printableLine(`the skill '${skill.id}' is ${skill.state}${skill.reason ? `: ${skill.reason}` : ''}`),
        {
          where: skill.file,
          cure: `see pith skills explain ${printableLine(skill.id)}`,
        },
      );
    return { skill, kept: await this.#kept(await this.#writer.keepVersion(skill.id)) };
  }

  /** The digest of the skill's folder; null: it is gone. Keeps nothing. */
  async presentDigest({ realDirectory }: SkillRecord): Promise<string | null> {
    try {
      return await treeDigest(realDirectory);
    } catch (error) {
      if (codeOf(error, '') === 'ENOENT') return null;
      throw error;
    }
  }

  /** Rejects where the skill, or what the proposal was made for, is not there any more. `found`: the skill, for who has just looked. */
  async fit(proposal: Proposal, found?: SkillRecord): Promise<Fit> {
    const { skill, kept: present } = await this.present(proposal.skill, found);
    const target = await this.targetOf(skill);
    const base = present.digest === proposal.base ? present : await this.#kept(`${proposal.skill}@${proposal.base}`);
    const [baseTree, presentTree] = [await readSkillTree(base.directory), await readSkillTree(present.directory)];
    const planned = plannedChange(baseTree, proposal.diff, path.basename(target.folder));
    if ('problems' in planned) return { conflicts: planned.problems };
    const merged = base === present ? planned : mergedTrees(baseTree, presentTree, planned.tree);
    if ('conflicts' in merged) return merged;
    const key = sha256(JSON.stringify([contentDigest(proposal), present.digest])).slice(0, 16);
    const unversioned = await this.make(proposal.id, merged.tree, { key: `${key}-0`, name: path.basename(target.folder) });
    const { tree, version } = await withNextVersion(presentTree, merged.tree, skill.id);
    const after =
      version.step === 'none' || version.step === 'stated'
        ? unversioned
        : await this.make(proposal.id, tree, { key, name: path.basename(target.folder) });
    const isDone = unversioned.digest === present.digest;
    return { skill, present, after: isDone ? present : after, target, version, isMerged: base !== present, isDone };
  }

  /** Writes the tree into a folder of its own, once for each key. */
  async make(id: string, tree: SkillTree, { key, name }: { readonly key: string; readonly name: string }): Promise<KeptFolder> {
    const folder = this.#folder(id);
    const directory = path.join(folder.make(), key, name);
    if (!existsSync(directory)) {
      const draft = `.draft-${randomUUID()}`;
      await writeSkillTree(tree, path.join(folder.path, draft, name));
      try {
        renameSync(path.join(folder.path, draft), path.join(folder.path, key));
      } catch (error) {
        folder.remove(draft);
        if (!['ENOTEMPTY', 'EEXIST'].includes(codeOf(error, ''))) throw error; // otherwise another process made the same
      }
    }
    return { directory, digest: await treeDigest(directory) };
  }

  /** Removes what was made for that proposal. */
  forget(id: string): void {
    stateFolder(this.context.dataDirectory, FOLDER).remove(id);
  }

  /** Removes what was made for proposals that wait no more. */
  keepOnly(ids: ReadonlySet<string>): void {
    const root = stateFolder(this.context.dataDirectory, FOLDER);
    for (const id of root.list()) if (!ids.has(id)) root.remove(id);
  }

  /** Rejects `skill_not_writable` for links, and for skills of plugins that lie elsewhere. */
  async targetOf(skill: SkillRecord): Promise<Target> {
    const places = await this.#writer.places();
    const refuse = (why: string, cure: string) =>
      new PithError('skill_not_writable', printableLine(`the skill '${skill.id}' ${why}`), { where: skill.directory, cure });
    for (const place of places) {
      const folder = path.relative(place.skills, skill.directory);
      if (folder === '' || folder.startsWith('..') || path.isAbsolute(folder)) continue;
      const real = realOf(place.skills);
      if (real === null || path.join(real, folder) !== skill.realDirectory) throw refuse('is a link', 'change what it leads to');
      return { place, folder: folder.split(path.sep).join('/'), isOwnCopy: false };
    }
    const [place] = places;
    if (place === undefined || skill.id.includes(':')) throw refuse('belongs to a plugin', 'change it where the plugin comes from');
    return { place, folder: skill.id, isOwnCopy: true };
  }

  #folder(id: string) {
    return stateFolder(this.context.dataDirectory, FOLDER, id);
  }

  async #kept(reference: string): Promise<KeptFolder> {
    const digest = reference.slice(reference.lastIndexOf('@') + 1);
    const { realDirectory } = await this.#library.named(reference);
    return { directory: realDirectory, digest };
  }
}

/** The tree with the version of its SKILL.md raised. */
async function withNextVersion(
  before: SkillTree,
  after: SkillTree,
  id: string,
): Promise<{ readonly tree: SkillTree; readonly version: NextVersion }> {
  const [old, next] = [skillFileIn(before), skillFileIn(after)];
  const [oldFile, nextFile] = [before.files.get(old ?? ''), after.files.get(next ?? '')];
  if (next === null || oldFile === undefined || nextFile === undefined)
    return { tree: after, version: { text: '', from: null, to: null, step: 'none' } };
  const version = await nextVersion(oldFile.bytes.toString(), nextFile.bytes.toString(), id);
  const files = new Map(after.files).set(next, { ...nextFile, bytes: Buffer.from(version.text) });
  return { tree: { ...after, files }, version };
}
