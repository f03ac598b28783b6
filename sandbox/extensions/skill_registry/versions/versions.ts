import { randomUUID } from 'node:crypto';
import { closeSync, fsyncSync, openSync, renameSync, statSync } from 'node:fs';
import path from 'node:path';
import { type AgentSpec, type Clock, PithError } from 'pith';
import { printableLine } from '@pith/plain-text';
import { stateFolder, type StateFolder } from '@pith/safe-files';
import {
  canonical,
  type CopiedFile,
  copySkill,
  digestCopy,
  folderTree,
  placeOf,
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
export interface KeptVersion {
  /** Of the skill. */
  readonly id: string;
  /** `sha256:` and hex digits, of the whole folder. */
  readonly digest: string;
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

const FOLDER = 'versions';
const DRAFT = '.draft-';
/** What a killed process left is removed after so long. */
const DRAFT_MS = 60 * 60_000;
const DIGEST = /^(?:sha256:)?([0-9a-f]{7,64})$/;

/** Folders of skills as they were, by the digest of what they hold. A kept version never changes: one whose files differ is refused. */
export class Versions {
  /** Each snapshot with versions in it: the same object for the same versions. */
  readonly #views = new WeakMap<Snapshot, Map<string, Snapshot>>();

  constructor(private readonly options: VersionsOptions) {}

  /** Keeps the skill as it is now. Rejects where it is not trusted, or holds what no copy can hold. */
  async keep(skill: Skill): Promise<KeptVersion> {
    const { clock, isTrusted } = this.options;
    const folder = this.#folderOf(skill.id);
    folder.make();
    this.#removeDrafts(folder);
    const draft = `${DRAFT}${randomUUID()}`;
    try {
      const copy = folder.folder(draft, path.basename(skill.directory)).make();
      const files = await copied(skill, copy);
      const digest = await treeDigest(copy);
      if ((await treeDigest(skill.realDirectory)) !== digest) throw notKept(skill, await whyDifferent(skill));
      if (!(await isTrusted(skill, files))) throw notKept(skill, 'it changed since it was trusted');
      const kept: KeptVersion = { id: skill.id, digest, sources: [skill.source], version: skill.version, keptAt: clock.now() };
      const done = await this.#keepDraft(folder, draft, kept);
      if (await isTrusted(skill, files)) return done;
      this.#forgetIn(folder, done, skill.source); // a person took its trust back meanwhile
      throw notKept(skill, 'it is no longer trusted');
    } finally {
      folder.remove(draft);
    }
  }

  /** Of one skill, the first that was kept first. */
  of(id: string): readonly KeptVersion[] {
    const kept = keptIn(this.#folderOf(id)).filter((one) => one.id === id);
    return kept.sort((a, b) => a.keptAt - b.keptAt || (a.digest < b.digest ? -1 : 1));
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
        cure: `${known.length === 0 ? 'name' : 'name one of these, or'} the version or digest that 'pith skills show ${printableLine(id)}' prints`,
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
  forget(source: string, id: string | null): void {
    const root = stateFolder(this.options.dataDirectory, FOLDER);
    for (const name of root.list().filter((each) => /^[0-9a-f]{64}$/.test(each))) {
      const folder = root.folder(name);
      const its = keptIn(folder).filter((kept) => kept.sources.includes(source) && (id === null || kept.id === id));
      for (const kept of its) this.#forgetIn(folder, kept, source);
    }
  }

  #folderOf(id: string): StateFolder {
    return stateFolder(this.options.dataDirectory, FOLDER, sha256(id));
  }

  #forgetIn(folder: StateFolder, kept: KeptVersion, source: string): void {
    const hex = hexOf(kept.digest);
    const sources = kept.sources.filter((each) => each !== source);
    if (sources.length > 0) return folder.writeNow(`${hex}.json`, JSON.stringify({ ...kept, sources }));
    folder.remove(`${hex}.json`);
    folder.remove(hex);
  }

  /** A version is kept once its description is there, which is written last. */
  async #keepDraft(folder: StateFolder, draft: string, kept: KeptVersion): Promise<KeptVersion> {
    const hex = hexOf(kept.digest);
    const known = readKept(folder, `${hex}.json`);
    if (!(await this.#isWhole(kept))) {
      const from = path.join(folder.path, draft);
      await flush(from);
      if (!renamed(from, path.join(folder.path, hex)) && !(await this.#isWhole(kept))) {
        // What is there is damaged; another process that keeps the same puts the same in its place.
        renamed(path.join(folder.path, hex), path.join(folder.path, `${DRAFT}${randomUUID()}`));
        renamed(from, path.join(folder.path, hex));
      }
    }
    const merged = known === null ? kept : { ...known, sources: [...new Set([...known.sources, ...kept.sources])] };
    if (merged.sources.length !== known?.sources.length) await folder.write(`${hex}.json`, JSON.stringify(merged));
    return merged;
  }

  /** False: it is not there, or damaged. */
  async #isWhole({ id, digest }: Pick<KeptVersion, 'id' | 'digest'>): Promise<boolean> {
    const directory = path.join(this.#folderOf(id).path, hexOf(digest));
    const [name] = stateFolder(directory).list();
    return name !== undefined && isWhole(path.join(directory, name), digest);
  }

  async #skillOf(kept: KeptVersion): Promise<Skill> {
    const { id, digest, sources } = kept;
    const directory = path.join(this.#folderOf(id).path, hexOf(digest));
    if (!(await this.#isWhole(kept)))
      throw new PithError('skill_not_offered', printableLine(`the kept version ${short(digest)} of skill '${id}' is damaged`), {
        where: directory,
        cure: 'restore the folder from a backup, or name another version',
      });
    const { clock, config } = this.options;
    const place = { label: sources[0] ?? '', directory, configured: false, trusted: true };
    const scan = await scanSource(place, null, { trustedLinks: [], now: () => clock.now() });
    const [found] = scan.skills.values();
    const [skill] = found === undefined ? [] : rank([candidateOf({ source: place, scan }, { ...found, id })], filtersOf(config, []));
    if (skill === undefined) throw new PithError('skill_not_offered', `the kept version ${short(digest)} has no SKILL.md`);
    return { ...skill, source: KEPT_VERSION + digest };
  }

  #removeDrafts(folder: StateFolder): void {
    for (const name of folder.list().filter((each) => each.startsWith(DRAFT))) {
      const { mtimeMs } = statSync(path.join(folder.path, name), { throwIfNoEntry: false }) ?? { mtimeMs: Infinity };
      if (this.options.clock.now() - mtimeMs > DRAFT_MS) folder.remove(name);
    }
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

async function copied(skill: Skill, to: string): Promise<readonly CopiedFile[]> {
  try {
    const files = await copySkill(skill.realDirectory, to);
    if (files !== null) return [...files].map(([name, file]) => ({ path: name, ...file }));
  } catch (error) {
    if (!(error instanceof SkillTooLarge)) throw error;
    throw notKept(skill, error.message);
  }
  throw notKept(skill, 'its folder is gone');
}

async function whyDifferent({ realDirectory }: Skill): Promise<string> {
  const { links, others, files } = await folderTree(realDirectory);
  const odd = [...links.map((link) => link.path), ...others, ...files.flatMap((file) => (file.links > 1 ? file.path : []))];
  return odd.length === 0
    ? 'it changed while it was copied'
    : `it has links, or something that is not a file: ${odd.slice(0, 3).join(', ')}`;
}

function notKept({ id, file }: Skill, why: string): PithError {
  return new PithError('version_not_kept', printableLine(`the skill '${id}' cannot be kept as a version: ${why}`), {
    where: file,
    cure: 'correct that, then try again',
  });
}

/** By what a frontmatter said: of the source that is meant, the one that was kept first. */
function ofVersion(kept: readonly KeptVersion[], wanted: string, source: string | null): KeptVersion | undefined {
  return kept.find((one) => one.version === wanted && (source === null || one.sources.includes(source)));
}

/** False where something is there already, or nothing is to be renamed any more. */
function renamed(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if (['ENOTEMPTY', 'EEXIST', 'ENOENT'].includes((error as NodeJS.ErrnoException).code ?? '')) return false;
    throw error;
  }
}

function keptIn(folder: StateFolder): KeptVersion[] {
  return folder.list().flatMap((name) => (name.endsWith('.json') ? (readKept(folder, name) ?? []) : []));
}

/** null: it is damaged, or no file of ours. */
function readKept(folder: StateFolder, name: string): KeptVersion | null {
  try {
    const read = JSON.parse(String(folder.read(name))) as Partial<KeptVersion> & { readonly source?: string };
    const { id, digest, source, sources = [source], version, keptAt } = read; // a version once had one source
    if (digest !== `sha256:${name.slice(0, -'.json'.length)}` || typeof id !== 'string') return null;
    if (!Array.isArray(sources) || sources.length === 0 || !sources.every((each) => typeof each === 'string')) return null;
    return { id, digest, sources, version: typeof version === 'string' ? version : null, keptAt: Number(keptAt) || 0 };
  } catch {
    return null; // not written yet, damaged, or of somebody else
  }
}

/** What was copied is on disk before it counts. */
async function flush(folder: string): Promise<void> {
  const tree = await folderTree(folder);
  for (const { path: name, kind } of tree.entries) {
    if (kind !== 'file' && kind !== 'folder') continue;
    const descriptor = openSync(placeOf(folder, name), 'r');
    try {
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  }
}

/** How a skill is named so that it stays what it is: of a kept version with its digest. */
export function referenceTo({ id, source, state }: Pick<Skill, 'id' | 'source' | 'state'>): string {
  if (source.startsWith(KEPT_VERSION)) return `${id}@${source.slice(KEPT_VERSION.length)}`;
  return state === 'shadowed' ? `${source}/${id}` : id;
}

function hexOf(digest: string): string {
  return digest.slice('sha256:'.length);
}

/** As a person reads a digest. */
function short(digest: string): string {
  return digest.slice(0, 'sha256:'.length + 12);
}
