import path from 'node:path';
import { type AgentSpec, type Clock, PithError } from 'pith';
import { printableLine } from '@pith/plain-text';
import { type Kept, KeptFolders } from '@pith/kept-folders';
import { stateFolder, type StateFolder } from '@pith/safe-files';
import {
  canonical,
  type CopiedFile,
  copySkill,
  digestCopy,
  folderTree,
  readTree,
  scanSource,
  SkillTooLarge,
  treeDigest,
  Yielder,
} from '@pith/skill-files';
import { sha256 } from '@pith/plain-data';
import { KEPT_VERSION } from '../contract.ts';
import { findSkill } from '../scan/names.ts';
import { candidateOf, filtersOf, rank } from '../scan/precedence.ts';
import type { RegistryConfig } from '../scan/sources.ts';
import { notOffered, type Skill, type Snapshot } from '../skill.ts';

/** A skill's folder as it was, kept under the digest of all its files. */
export interface KeptVersion extends Kept {
  /** Of the skill. */
  readonly id: string;
  /** Where the skill was found with these bytes, the first source first. */
  readonly sources: readonly string[];
  /** What its frontmatter said; null: nothing. */
  readonly version: string | null;
  readonly keptAt: number;
}

export interface VersionsOptions {
  readonly dataDirectory: string;
  readonly clock: Clock;
  readonly config: RegistryConfig;
  /** The copy of a skill holds what is trusted. */
  readonly isTrusted: (skill: Skill, copy: readonly CopiedFile[]) => Promise<boolean>;
}

/** A folder of a skill that is to be kept. */
export interface SkillFolder extends Pick<Skill, 'id' | 'source' | 'version'> {
  readonly directory: string;
  /** Of the folder that the skill has where it is used. */
  readonly name: string;
}

const FOLDER = 'versions';
const DIGEST = /^(?:sha256:)?([0-9a-f]{7,64})$/;

/** Folders of skills as they were, by the digest of what they hold. A kept version never changes: one whose files differ is refused. */
export class Versions {
  /** Each snapshot with versions in it: the same object for the same versions. */
  readonly #views = new WeakMap<Snapshot, Map<string, Snapshot>>();

  constructor(private readonly options: VersionsOptions) {}

  /** Keeps the skill as it is now. Rejects where it is not trusted, or holds what no copy can hold. */
  async keep(skill: Skill): Promise<KeptVersion> {
    const { isTrusted } = this.options;
    const folder = { ...skill, directory: skill.realDirectory, name: path.basename(skill.directory) };
    let files: readonly CopiedFile[] = [];
    const done = await this.keepFolder(folder, async (copy) => {
      files = copy;
      if (!(await isTrusted(skill, files))) throw notKept(folder, 'it changed since it was trusted');
    });
    if (await isTrusted(skill, files)) return done;
    await this.#forgetIn(this.storeOf(skill.id), done, skill.source); // a person took its trust back meanwhile
    throw notKept(folder, 'it is no longer trusted');
  }

  /** Keeps a folder of a skill as it is now. Rejects where it holds what no copy can hold, or what `check` rejects. */
  async keepFolder(skill: SkillFolder, check?: (files: readonly CopiedFile[]) => Promise<void>): Promise<KeptVersion> {
    const { id, source, version, directory, name } = skill;
    let files: readonly CopiedFile[] = [];
    const fill = async (copy: string) => {
      files = await copied(skill, copy);
    };
    return this.storeOf(id).keep(name, fill, async (digest, known) => {
      if ((await treeDigest(directory)) !== digest) throw notKept(skill, await whyDifferent(directory));
      await check?.(files);
      if (known !== null) return { ...known, sources: [...new Set([...known.sources, source])] };
      return { id, digest, sources: [source], version, keptAt: this.options.clock.now() };
    });
  }

  /** Of one skill, the first that was kept first. */
  of(id: string): readonly KeptVersion[] {
    const kept = this.storeOf(id).list();
    return kept.filter((one) => one.id === id).sort((a, b) => a.keptAt - b.keptAt || (a.digest < b.digest ? -1 : 1));
  }

  /** The skill that `id@version` names, as it was: by the beginning of a digest, or by what the frontmatter said. The version that it has now is kept by this. */
  async find(snapshot: Snapshot, reference: string): Promise<Skill> {
    const { name, wanted } = parted(reference);
    const live = findSkill(snapshot, name);
    const cut = name.lastIndexOf('/');
    const id = live?.id ?? name.slice(cut + 1);
    const source = live?.source ?? (cut > 0 ? name.slice(0, cut) : null);
    const kept = this.of(id);
    const digest = DIGEST.exec(wanted)?.[1];
    // A digest says what is meant, whatever a SKILL.md calls its version.
    const alike = digest === undefined ? [] : kept.filter((one) => one.digest.startsWith(`sha256:${digest}`));
    const found = alike.length === 1 ? alike[0] : ofVersion(kept, wanted, source);
    if (found !== undefined) {
      if (live?.state === 'disabled' && found.sources.includes(live.source)) throw notOffered(live);
      return this.#skillOf(found);
    }
    if (live?.state === 'offered' || live?.state === 'shadowed') {
      const isNow = digest === undefined ? live.version === wanted : (await treeDigest(live.realDirectory)).startsWith(`sha256:${digest}`);
      if (isNow) return this.#skillOf(await this.keep(live));
    }
    const known = [...new Set(kept.map(({ version, digest: each }) => version ?? short(each)))];
    throw new PithError(
      'skill_not_offered',
      printableLine(
        `no version '${digest === undefined ? wanted : short(`sha256:${digest}`)}' of skill '${id}' is kept${known.length === 0 ? '' : `; kept are ${known.join(', ')}`}`,
      ),
      {
        cure: `${known.length === 0 ? 'name' : 'name one of these, or'} its version or digest; see: pith skills show ${printableLine(id)}`,
      },
    );
  }

  /** The skill of a kept version by its source, `version:sha256:…`, and its id; null for other sources. */
  async at(source: string, id: string): Promise<Skill | null> {
    if (!source.startsWith(KEPT_VERSION)) return null;
    const kept = this.of(id).find(({ digest }) => KEPT_VERSION + digest === source);
    return kept === undefined ? null : this.#skillOf(kept);
  }

  /** What an agent finds that names versions: these in the place of the present ones. One that cannot be used is left out. */
  async inPlace(snapshot: Snapshot, { usesSkills }: Pick<AgentSpec, 'usesSkills'>): Promise<Snapshot> {
    const named = usesSkills.filter((reference) => namesVersion(snapshot, reference));
    if (named.length === 0) return snapshot;
    const found = await Promise.all(
      named.map(async (reference) => ({ reference, skill: await this.find(snapshot, reference).catch(() => null) })),
    );
    const kept = found.flatMap(({ reference, skill }) => (skill === null ? [] : [{ reference, skill }]));
    const views = this.#views.get(snapshot) ?? new Map<string, Snapshot>();
    this.#views.set(snapshot, views);
    const key = JSON.stringify(kept.map(({ reference, skill }) => [reference, skill.source]));
    const view = views.get(key) ?? withKept(snapshot, kept);
    views.set(key, view);
    return view;
  }

  /** null: the skill is no kept version. False: its files, or this copy of them, are not those that were kept. */
  async isIntact(skill: Skill, copy?: readonly CopiedFile[]): Promise<boolean | null> {
    if (!skill.source.startsWith(KEPT_VERSION)) return null;
    const digest = skill.source.slice(KEPT_VERSION.length);
    if (copy === undefined) return isWhole(skill.realDirectory, digest);
    const yielder = new Yielder();
    const tree = await readTree(skill.realDirectory, null, this.options.clock.now(), yielder).catch(() => null); // it is gone
    const digests = tree && (await digestCopy(tree, copy, skill, yielder));
    return digests !== null && `sha256:${digests.tree}` === digest;
  }

  /** A person takes the trust of a source back, or of one skill of it: removes what is kept of that, and of no other source. */
  async forget(source: string, id: string | null): Promise<void> {
    const root = stateFolder(this.options.dataDirectory, FOLDER);
    for (const name of root.list().filter((each) => /^[0-9a-f]{64}$/.test(each))) {
      const store = this.#storeIn(root.folder(name));
      const its = store.list().filter((kept) => kept.sources.includes(source) && (id === null || kept.id === id));
      for (const kept of its) await this.#forgetIn(store, kept, source);
    }
  }

  /** The kept folders of one skill. */
  storeOf(id: string): KeptFolders<KeptVersion> {
    return this.#storeIn(stateFolder(this.options.dataDirectory, FOLDER, sha256(id)));
  }

  #storeIn(folder: StateFolder): KeptFolders<KeptVersion> {
    return new KeptFolders({ folder, now: () => this.options.clock.now(), digestOf: treeDigest, factsOf });
  }

  async #forgetIn(store: KeptFolders<KeptVersion>, kept: KeptVersion, source: string): Promise<void> {
    const sources = kept.sources.filter((each) => each !== source);
    if (sources.length > 0) await store.note({ ...kept, sources });
    else store.remove(kept.digest);
  }

  async #skillOf(kept: KeptVersion): Promise<Skill> {
    const { id, digest, sources } = kept;
    const folder = await this.storeOf(id).at(digest);
    if (folder === null)
      throw new PithError('skill_not_offered', printableLine(`the kept version ${short(digest)} of skill '${id}' is damaged`), {
        where: stateFolder(this.options.dataDirectory, FOLDER, sha256(id)).path,
        cure: 'restore the folder from a backup, or name another version',
      });
    const { clock, config } = this.options;
    const place = { label: sources[0] ?? '', directory: path.dirname(folder), configured: false, trusted: true };
    const scan = await scanSource(place, null, { trustedLinks: [], now: () => clock.now() });
    const [found] = scan.skills.values();
    const [skill] = found === undefined ? [] : rank([candidateOf({ source: place, scan }, { ...found, id })], filtersOf(config, []));
    if (skill === undefined) throw new PithError('skill_not_offered', `the kept version ${short(digest)} has no SKILL.md`);
    return { ...skill, source: KEPT_VERSION + digest };
  }
}

/** Whether the files of the folder are those of the digest. */
async function isWhole(directory: string, digest: string): Promise<boolean> {
  return (await treeDigest(directory).catch(() => null)) === digest; // null: it cannot be read
}

/** Whether a name of `uses_skills` is `id@version`: a skill may have an id with an @ in it. */
export function namesVersion(snapshot: Snapshot, reference: string): boolean {
  const at = reference.lastIndexOf('@');
  return at > 0 && at < reference.length - 1 && findSkill(snapshot, reference) === undefined;
}

/** The snapshot with these in the place of the present ones. */
function withKept(snapshot: Snapshot, kept: readonly { readonly reference: string; readonly skill: Skill }[]): Snapshot {
  const skills = new Map(snapshot.skills);
  const aliases = new Map(snapshot.aliases);
  for (const { reference, skill } of kept) {
    skills.set(skill.id, skill);
    aliases.set(canonical(reference), skill.id);
  }
  const sorted = new Map([...skills].sort(([a], [b]) => (a < b ? -1 : 1)));
  return Object.freeze({ ...snapshot, base: snapshot, skills: sorted, aliases, all: [...snapshot.all, ...kept.map(({ skill }) => skill)] });
}

function parted(reference: string): { readonly name: string; readonly wanted: string } {
  const at = reference.lastIndexOf('@');
  return { name: reference.slice(0, at), wanted: reference.slice(at + 1) };
}

async function copied(skill: SkillFolder, to: string): Promise<readonly CopiedFile[]> {
  try {
    const files = await copySkill(skill.directory, to);
    if (files !== null) return [...files].map(([name, file]) => ({ path: name, ...file }));
  } catch (error) {
    if (!(error instanceof SkillTooLarge)) throw error;
    throw notKept(skill, error.message);
  }
  throw notKept(skill, 'its folder is gone');
}

async function whyDifferent(directory: string): Promise<string> {
  const { links, others, files } = await folderTree(directory);
  const odd = [...links.map((link) => link.path), ...others, ...files.flatMap((file) => (file.links > 1 ? file.path : []))];
  return odd.length === 0
    ? 'it changed while it was copied'
    : `it has links, or something that is not a file: ${odd.slice(0, 3).join(', ')}`;
}

function notKept({ id, directory }: Pick<SkillFolder, 'id' | 'directory'>, why: string): PithError {
  return new PithError('version_not_kept', printableLine(`the skill '${id}' cannot be kept as a version: ${why}`), {
    where: directory,
    cure: 'correct that, then try again',
  });
}

/** By what a frontmatter said: of the source that is meant, the one that was kept first. */
function ofVersion(kept: readonly KeptVersion[], wanted: string, source: string | null): KeptVersion | undefined {
  return kept.find((one) => one.version === wanted && (source === null || one.sources.includes(source)));
}

/** null: it is damaged, or no file of ours. */
function factsOf(value: unknown): KeptVersion | null {
  const read = value as Partial<KeptVersion> & { readonly source?: string };
  const { id, digest, source, sources = [source], version, keptAt } = read; // a version once had one source
  if (typeof digest !== 'string' || typeof id !== 'string') return null;
  if (!Array.isArray(sources) || sources.length === 0 || !sources.every((each) => typeof each === 'string')) return null;
  return { id, digest, sources, version: typeof version === 'string' ? version : null, keptAt: Number(keptAt) || 0 };
}

/** How a skill is named so that it stays what it is: of a kept version with its digest. */
export function referenceTo({ id, source, state }: Pick<Skill, 'id' | 'source' | 'state'>): string {
  if (source.startsWith(KEPT_VERSION)) return `${id}@${source.slice(KEPT_VERSION.length)}`;
  return state === 'shadowed' ? `${source}/${id}` : id;
}

/** As a person reads a digest. */
function short(digest: string): string {
  return digest.slice(0, 'sha256:'.length + 12);
}
