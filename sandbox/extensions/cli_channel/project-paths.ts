import { listFiles } from '@pith/project-files';
import { isSecretFile, Jail } from '@pith/safe-files';

const MOST_FILES = 20_000;
/** How long a list is used. */
const FRESH_MS = 5_000;

/** Files at and below a folder that a person may mean, and never one that may contain secrets. */
export class ProjectPaths {
  #list: { readonly at: number; readonly paths: Promise<readonly string[]> } | null = null;

  /** `useGit`: false where the person does not trust the folder. */
  constructor(
    private readonly folder: string,
    private readonly useGit: boolean,
    private readonly clock: { now(): number },
  ) {}

  /** Names from the folder down, joined by `/`; sorted. */
  list(signal: AbortSignal): Promise<readonly string[]> {
    const now = this.clock.now();
    if (this.#list !== null && now - this.#list.at <= FRESH_MS) return this.#list.paths;
    const paths = this.#read(signal);
    this.#list = { at: now, paths };
    void paths.catch(() => (this.#list = null)); // the next one who asks tries again
    return paths;
  }

  async #read(signal: AbortSignal): Promise<readonly string[]> {
    const { paths } = await listFiles(new Jail(this.folder), { most: MOST_FILES, useGit: this.useGit }, signal);
    return paths.filter((file) => !isSecretFile(file.split('/')));
  }
}
