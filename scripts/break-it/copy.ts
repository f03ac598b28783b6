import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Place } from './faults.ts';
import { type Ended, runProgram } from './run-program.ts';

/** What the person's folder holds of Pith, in a folder of its own: it may be broken. */
export class Copy {
  readonly folder: string;
  readonly #signal: AbortSignal;

  constructor(folder: string, signal: AbortSignal) {
    this.folder = folder;
    this.#signal = signal;
  }

  has(file: string): boolean {
    return existsSync(path.join(this.folder, file));
  }

  /** How often the text of a place stands in its file. */
  async count({ file, find }: Place): Promise<number> {
    return this.has(file) ? (await this.#read(file)).split(find).length - 1 : 0;
  }

  /** Changes the places while `work` runs. `built`: what runs from dist/ too. */
  async whileBroken(places: readonly Place[], built: boolean, work: () => Promise<void>): Promise<void> {
    const before = new Map<string, string>();
    for (const { file } of places) before.set(file, await this.#read(file));
    try {
      for (const { file, find, replace } of places)
        await this.#write(
          file,
          (await this.#read(file)).replace(find, () => replace),
        );
      if (built) await this.build();
      await work();
    } finally {
      for (const [file, text] of before) await this.#write(file, text);
      if (built && !this.#signal.aborted) await this.build();
    }
  }

  async build(): Promise<void> {
    const { code, said } = await this.run(['scripts/build.mjs']);
    if (code !== 0) throw new Error(`what was broken could not be built: ${said.slice(-2000)}`);
  }

  run(argv: readonly string[]): Promise<Ended> {
    return runProgram(this.folder, argv, this.#signal);
  }

  /** What a program wrote into a file of this name, which goes. */
  async take(name: string): Promise<string> {
    const text = await this.#read(name);
    await rm(path.join(this.folder, name));
    return text;
  }

  remove(): Promise<void> {
    return rm(this.folder, { recursive: true, force: true, maxRetries: 3 });
  }

  #read(file: string): Promise<string> {
    return readFile(path.join(this.folder, file), 'utf8');
  }

  #write(file: string, text: string): Promise<void> {
    return writeFile(path.join(this.folder, file), text);
  }
}

/** Of the repository at `root` what is committed or may be, with its packages, and with what was built of it, which may be all that is needed. */
export async function makeCopy(root: string, signal: AbortSignal): Promise<Copy> {
  const folder = await realpath(await mkdtemp(path.join(os.tmpdir(), 'pith-break-it-')));
  const copy = new Copy(folder, signal);
  try {
    const argv = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
    const { stdout } = await promisify(execFile)('git', argv, { cwd: root, maxBuffer: 1 << 26 });
    const files = stdout.split('\0').filter((file) => file !== '' && existsSync(path.join(root, file)));
    for (const parent of new Set(files.map((file) => path.dirname(file)))) await mkdir(path.join(folder, parent), { recursive: true });
    await Promise.all(files.map((file) => cp(path.join(root, file), path.join(folder, file), { verbatimSymlinks: true })));
    await symlink(path.join(root, 'node_modules'), path.join(folder, 'node_modules'));
    if (existsSync(path.join(root, 'dist'))) await cp(path.join(root, 'dist'), path.join(folder, 'dist'), { recursive: true });
    await copy.build();
    return copy;
  } catch (error) {
    await copy.remove();
    throw error;
  }
}
