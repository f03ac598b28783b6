import { randomUUID } from 'node:crypto';
import { renameSync, statSync } from 'node:fs';
import { chmod, cp, readdir } from 'node:fs/promises';
import path from 'node:path';
import { type StateFolder, syncTree } from '@pith/safe-files';

/** What is known of a kept folder. */
export interface Kept {
  /** `sha256:` and hex digits, of the whole folder. */
  readonly digest: string;
}

export interface KeptFoldersOptions<Facts extends Kept> {
  readonly folder: StateFolder;
  readonly now: () => number;
  /** As `sha256:` and hex digits. */
  readonly digestOf: (folder: string) => Promise<string>;
  /** null for a value that is damaged. */
  readonly factsOf: (value: unknown) => Facts | null;
}

/** Of the facts on disk. Those without a format have the first. Raise it when older code would misread them. */
const FORMAT = 1;
const DRAFT = '.draft-';
/** What a killed process left is removed after so long. */
const DRAFT_MS = 60 * 60_000;

/**
 * Folders as they were, each under the digest of its content, with facts about it. A kept folder never changes: one whose files differ is
 * damaged, and comes back when it is kept again. Several processes may keep at once.
 */
export class KeptFolders<Facts extends Kept> {
  constructor(private readonly options: KeptFoldersOptions<Facts>) {}

  /** Sorted by nothing: who lists them knows by what. */
  list(): Facts[] {
    const { folder } = this.options;
    return folder.list().flatMap((name) => (name.endsWith('.json') ? (this.#factsIn(name) ?? []) : []));
  }

  /**
   * Keeps what `fill` writes into an empty folder of this name. `describe` gives the facts, of which `known` are those of the same content;
   * where it rejects, nothing is kept.
   */
  async keep(
    name: string,
    fill: (folder: string) => Promise<void>,
    describe: (digest: string, known: Facts | null) => Promise<Facts> | Facts,
  ): Promise<Facts> {
    const { folder, digestOf } = this.options;
    folder.make();
    this.#removeDrafts();
    const draft = `${DRAFT}${randomUUID()}`;
    try {
      const copy = folder.folder(draft, name).make();
      await fill(copy);
      const digest = await digestOf(copy);
      const known = this.#factsIn(`${hexOf(digest)}.json`);
      const facts = await describe(digest, known);
      await this.#keepDraft(draft, digest);
      await this.note(facts); // last: a folder is kept once its facts are there
      return facts;
    } finally {
      folder.remove(draft);
    }
  }

  /** Writes down the facts, where they are not what is known. */
  async note(facts: Facts): Promise<void> {
    const name = `${hexOf(facts.digest)}.json`;
    if (JSON.stringify(this.#factsIn(name)) !== JSON.stringify(facts))
      await this.options.folder.write(name, JSON.stringify({ format: FORMAT, ...facts }));
  }

  /** The kept folder; null: it is not there, or damaged. */
  async at(digest: string): Promise<string | null> {
    const directory = this.options.folder.folder(hexOf(digest));
    const [name] = directory.list();
    if (name === undefined) return null;
    const kept = path.join(directory.path, name);
    const found = await this.options.digestOf(kept).catch(() => null); // it cannot be read
    return found === digest ? kept : null;
  }

  /** Writes the kept folder to a place where nothing is, so that it can be edited there. False: it is not there, or damaged. */
  async putInto(place: string, digest: string): Promise<boolean> {
    const kept = await this.at(digest);
    if (kept === null) return false;
    await cp(kept, place, { recursive: true, errorOnExist: true, force: false });
    await chmod(place, 0o755);
    for (const entry of await readdir(place, { recursive: true, withFileTypes: true })) {
      const file = path.join(entry.parentPath, entry.name);
      if (entry.isFile()) await chmod(file, (statSync(file).mode & 0o111) === 0 ? 0o644 : 0o755);
    }
    return (await this.options.digestOf(place)) === digest; // what was copied, not what was looked at
  }

  remove(digest: string): void {
    const { folder } = this.options;
    folder.remove(`${hexOf(digest)}.json`);
    folder.remove(hexOf(digest));
  }

  async #keepDraft(draft: string, digest: string): Promise<void> {
    const { folder } = this.options;
    const isWhole = async () => (await this.at(digest)) !== null;
    if (await isWhole()) return;
    const [from, to] = [path.join(folder.path, draft), path.join(folder.path, hexOf(digest))];
    await syncTree(from);
    if (renamed(from, to) || (await isWhole())) return;
    // What is there is damaged; another process that keeps the same puts the same in its place.
    renamed(to, path.join(folder.path, `${DRAFT}${randomUUID()}`));
    renamed(from, to);
  }

  /** null: there are none, or they are damaged or of newer code. */
  #factsIn(name: string): Facts | null {
    try {
      const { format = FORMAT, ...value } = JSON.parse(String(this.options.folder.read(name))) as { readonly format?: unknown };
      const facts = format === FORMAT ? this.options.factsOf(value) : null;
      return facts !== null && `${hexOf(facts.digest)}.json` === name ? facts : null;
    } catch {
      return null; // not written yet, damaged, or of somebody else
    }
  }

  #removeDrafts(): void {
    const { folder, now } = this.options;
    for (const name of folder.list().filter((each) => each.startsWith(DRAFT))) {
      const { mtimeMs } = statSync(path.join(folder.path, name), { throwIfNoEntry: false }) ?? { mtimeMs: Infinity };
      if (now() - mtimeMs > DRAFT_MS) folder.remove(name);
    }
  }
}

function hexOf(digest: string): string {
  return digest.slice('sha256:'.length);
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
