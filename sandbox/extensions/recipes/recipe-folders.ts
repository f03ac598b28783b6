import { open, readdir, stat } from 'node:fs/promises';
import { systemReason } from '@pith/safe-files';
import path from 'node:path';
import { codeOf, messageOf, type Logger, type Places } from 'pith';
import { isBroken, type BrokenRecipe, type Recipe } from './recipe.ts';
import { readRecipe, RECIPE_LIMIT } from './recipe-file.ts';
import { constants } from 'node:fs';
import { isNothingThere, isPassing } from '@pith/safe-files';

export interface FoundRecipes {
  /** Sorted by name; of several with one name, that of the highest source. */
  readonly recipes: readonly Recipe[];
  readonly broken: readonly BrokenRecipe[];
}

const MOST_FILES = 1000;

/** The folders with recipes, read each time; an unchanged file is parsed once. */
export class RecipeFolders {
  readonly #parsed = new Map<string, { readonly stamp: string; readonly recipe: Recipe | BrokenRecipe }>();

  /** The content of each folder when it could last be read. */
  readonly #folders = new Map<string, readonly (Recipe | BrokenRecipe)[]>();

  constructor(
    private readonly places: Omit<Places, 'untrustedSandbox'>,
    private readonly logger: Logger,
  ) {}

  /** Lowest precedence first: shipped, the person's own, the sandbox's. */
  sources(): readonly { readonly label: string; readonly directory: string }[] {
    const { sandbox, home, shippedSandbox: shipped } = this.places;
    return [
      ...(path.relative(shipped, sandbox) === '' ? [] : [{ label: 'bundled', directory: path.join(shipped, 'recipes') }]),
      ...(home === null ? [] : [{ label: '~/.pith/recipes', directory: path.join(home, '.pith/recipes') }]),
      { label: 'sandbox/recipes', directory: path.join(sandbox, 'recipes') },
    ];
  }

  async read(): Promise<FoundRecipes> {
    const good = new Map<string, Recipe>();
    const broken: BrokenRecipe[] = [];
    for (const { label, directory } of this.sources()) {
      for (const one of await this.#readFolder(label, directory)) {
        if (isBroken(one)) broken.push(one);
        else good.set(one.name, one);
      }
    }
    const recipes = [...good.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
    return { recipes, broken: broken.map((one) => ({ ...one, shown: !good.has(one.name) })) };
  }

  /** undefined: there is none. A broken recipe only where no good one has the name. */
  async find(name: string): Promise<Recipe | BrokenRecipe | undefined> {
    const { recipes, broken } = await this.read();
    return recipes.find((one) => one.name === name) ?? broken.findLast((one) => one.name === name);
  }

  async #readFolder(source: string, directory: string): Promise<readonly (Recipe | BrokenRecipe)[]> {
    let files: readonly string[];
    try {
      files = (await readdir(directory)).filter((file) => file.endsWith('.md') && !file.startsWith('.')).sort();
    } catch (error) {
      const known = isNothingThere(error) ? [] : (this.#folders.get(directory) ?? []);
      if (codeOf(error, '') !== 'ENOENT')
        this.logger.warn('recipes not read: those from before stay', { directory, reason: messageOf(error) });
      return known;
    }
    if (files.length > MOST_FILES) this.logger.warn('too many recipes', { directory, taken: MOST_FILES, of: files.length });
    const found = await Promise.all(files.slice(0, MOST_FILES).map((file) => this.#readFile(source, path.join(directory, file))));
    this.#folders.set(directory, found);
    return found;
  }

  async #readFile(source: string, file: string): Promise<Recipe | BrokenRecipe> {
    const from = { name: path.basename(file, '.md'), source, file };
    try {
      const { mtimeMs, ctimeMs, size, ino } = await stat(file);
      const stamp = [mtimeMs, ctimeMs, size, ino].join();
      const before = this.#parsed.get(file);
      if (before?.stamp === stamp) return before.recipe;
      const recipe = await readRecipe(from, await readBytes(file, RECIPE_LIMIT + 1));
      this.#parsed.set(file, { stamp, recipe });
      return recipe;
    } catch (error) {
      const before = this.#parsed.get(file);
      if (before !== undefined && isPassing(error)) return before.recipe;
      const why = /^E[A-Z]+$/u.test(codeOf(error, '')) ? systemReason(codeOf(error, '')) : messageOf(error);
      const finding = {
        severity: 'error',
        code: 'recipe_unreadable',
        message: `it cannot be read: ${why}`,
        file,
        line: 1,
        column: 1,
      } as const;
      return { ...from, findings: [{ ...finding, cure: 'make it a readable file' }], shown: true };
    }
  }
}

/** At most `limit` bytes of a regular file, without waiting for a pipe or a device. Rejects with the system's error, or our reason. */
async function readBytes(file: string, limit: number): Promise<Uint8Array> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) throw new RangeError('it is not a regular file');
    const buffer = Buffer.alloc(Math.min(stats.size, limit));
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}
