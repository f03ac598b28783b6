import { renameSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { readRegularFile, type StateFolder, stateFolder } from '@pith/safe-files';
import { folderTree, isProgram, treeDigest } from '@pith/skill-files';

/** Below the sandbox: free for agents to write, and offered by nobody. */
export const DRAFTS_FOLDER: readonly string[] = ['.staging', 'skills'];

const DRAFT_ID = /^(?=.{1,64}$)[a-z0-9]+(?:-[a-z0-9]+)*$/;
const GONE = '.gone-';
const MOST_FILES = 500;
const MOST_BYTES = 16 * 1024 * 1024;

export function isDraftId(id: string): boolean {
  return DRAFT_ID.test(id);
}

export interface DraftFile {
  readonly path: string;
  readonly bytes: Buffer;
  readonly executable: boolean;
  readonly isProgram: boolean;
}

/** The files of a draft as they were at one moment. */
export interface DraftContent {
  readonly files: readonly DraftFile[];
  /** Of the whole folder. */
  readonly digest: string;
  /** What cannot be in a draft, as the end of a sentence; null: nothing. */
  readonly odd: string | null;
}

/** The folders of the drafts. */
export class DraftFiles {
  readonly #folder: StateFolder;

  constructor(sandbox: string) {
    this.#folder = stateFolder(sandbox, ...DRAFTS_FOLDER);
  }

  directory(id: string): string {
    return path.join(this.#folder.path, id);
  }

  isThere(id: string): boolean {
    return this.#folder.list().includes(id);
  }

  /** null: there is none. Rejects where it changes while it is read. */
  async read(id: string): Promise<DraftContent | null> {
    if (!this.isThere(id)) return null;
    const directory = this.directory(id);
    const tree = await folderTree(directory);
    const odd = [
      ...tree.links.map((link) => link.path),
      ...tree.others,
      ...tree.files.flatMap((file) => (file.links > 1 ? file.path : [])),
    ];
    if (tree.entries[0]?.kind !== 'folder' || odd.length > 0)
      return { files: [], digest: '', odd: `it has a link, or something that is not a file: ${odd[0] ?? id}` };
    if (tree.more || tree.files.length > MOST_FILES) return { files: [], digest: '', odd: `it has more than ${MOST_FILES} files` };
    const before = await treeDigest(directory);
    const files: DraftFile[] = [];
    let left = MOST_BYTES;
    for (const file of tree.files) {
      const bytes = await readRegularFile(path.join(directory, file.path), left);
      left -= bytes.length;
      const shebang = bytes[0] === 0x23 && bytes[1] === 0x21;
      files.push({ path: file.path, bytes, executable: file.executable, isProgram: isProgram({ ...file, shebang }) });
    }
    const digest = await treeDigest(directory);
    if (digest !== before) return this.read(id); // a tool writes at this moment
    return { files, digest, odd: null };
  }

  /** Takes it away at once: nobody sees half of it. */
  remove(id: string): void {
    const gone = `${GONE}${randomUUID()}`;
    renameSync(this.directory(id), path.join(this.#folder.path, gone));
    for (const name of this.#folder.list()) if (name.startsWith(GONE)) this.#folder.remove(name);
  }
}

/** Writes the files into a folder that is made. */
export async function writeDraft(to: string, files: readonly DraftFile[]): Promise<void> {
  await mkdir(to, { recursive: true });
  for (const { path: name, bytes, executable } of files) {
    const file = path.join(to, name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, bytes, { flag: 'wx', mode: executable ? 0o755 : 0o644 });
  }
}
