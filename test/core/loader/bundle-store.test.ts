import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { PithError, z } from 'pith';
import { beforeEach, describe, expect, it } from 'vitest';
import { buildGraph, createLoader, importBundle } from '../../../core/loader/index.ts';
import { type Declaration, packageRoot, sourceDigest } from '../../../core/declarations/index.ts';
import { folderWith } from '../../places.ts';
import { stampsHold } from '../../waiting.ts';

let root: string;
beforeEach(async () => {
  root = folderWith();
  await mkdir(path.join(root, 'sandbox/extensions/mine'), { recursive: true });
  await writeFile(
    path.join(root, 'sandbox/extensions/mine/manifest.yaml'),
    'id: mine\nentrypoint: main.ts\nprovides: [tool]\ncommands: [{ path: mine, entry: commands.ts }]\n',
  );
  await source(
    'main.ts',
    "import { z } from 'pith';\nimport { ulid } from 'ulid';\nexport default class Mine { getTools() { return [ulid, z.string()]; } }",
  );
  await source(
    'commands.ts',
    "import { PithError } from 'pith';\nimport { didYouMean } from '@pith/plain-text';\nexport default () => [new PithError('usage', didYouMean('ab', ['abc']))];",
  );
  for (const name of ['node_modules', 'packages', 'package.json', 'tsconfig.json'])
    await symlink(path.join(packageRoot(), name), path.join(root, name));
});

const directory = (): string => path.join(root, 'sandbox/extensions/mine');
const source = (name: string, text: string) => writeFile(path.join(directory(), name), text);
const declaration = (): Declaration => ({
  id: 'mine',
  directory: directory(),
  file: path.join(directory(), 'manifest.yaml'),
  prompt: null,
  shipped: true,
  diagnostics: [],
  digest: sourceDigest(directory()),
  manifest: { entrypoint: 'main.ts' } as Declaration['manifest'],
});
/** As the build does. */
async function ship(ships?: (id: string) => boolean): Promise<void> {
  await buildGraph({ packageRoot: root, folder: path.join(root, 'dist', 'newest'), entries: {}, ships });
  await writeFile(path.join(root, 'dist', 'build.json'), '{"build":"newest"}');
}
const store = () => createLoader({ dataDirectory: path.join(root, 'data'), packageRoot: root });

describe('bundles', () => {
  it('K6 uses what the build shipped while the sources are the same, and bundles them when they are not', async () => {
    await ship();
    const shipped = await store().bundle(declaration(), 'main.ts');
    expect(shipped).toMatchObject({ shipped: true, file: expect.stringContaining(path.join('dist', 'newest', 'ext', 'mine')) });
    expect(await readFile(shipped.file, 'utf8')).not.toContain('node_modules');
    expect(await store().bundle(declaration(), 'commands.ts')).toMatchObject({ shipped: true });
    await source('main.ts', 'export default class Changed {}');
    const own = await store().bundle(declaration(), 'main.ts');
    expect(own).toMatchObject({ shipped: false, file: expect.stringContaining(path.join('data', '.cache', 'bundles')) });
    expect(await readFile(own.file, 'utf8')).toContain('Changed');
  });

  it('E6 is imported, and imported afresh, also from a folder with a backslash and a percent sign in its name', async () => {
    await source('main.ts', 'export default class Mine { static at = Math.random(); }');
    const folder = path.join(root, 'back\\slash%5C%2f');
    const { file } = await createLoader({ dataDirectory: folder, packageRoot: root }).bundle(declaration(), 'main.ts');
    expect(file).toContain(folder);
    const at = async (generation: number) => ((await importBundle(file, generation))['default'] as { at: number }).at;
    expect(await at(2)).not.toBe(await at(1));
  });

  it('K6 tells what was changed since the build from what the build never had', async () => {
    await source('words.bin', 'abc');
    await ship();
    expect(store().isAltered(declaration())).toBe(false);
    await source('words.bin', 'abd');
    expect(store().isAltered(declaration())).toBe(true);
    expect(store().isAltered({ ...declaration(), id: 'elsewhere' })).toBe(false);
    await writeFile(path.join(root, 'dist/newest/ext/index.json'), '{');
    expect(store().isAltered(declaration())).toBe(true);
    await rm(path.join(root, 'dist'), { recursive: true });
    expect(store().isAltered(declaration())).toBe(false);
  });

  it('K6 a person’s own extension in a checkout of Pith does not ship, also after a build', async () => {
    await ship((id) => id !== 'mine');
    expect(store().isShipped(declaration())).toBe(false);
    expect(await store().bundle(declaration(), 'main.ts')).toMatchObject({ shipped: false });
  });

  it('K6 a package of Pith is part of what ships, and a built file for all others', async () => {
    await ship();
    expect(
      (await readFile((await store().bundle(declaration(), 'commands.ts')).file, 'utf8')).match(/^import.*@pith|dist\/packages/gm),
    ).toBeNull();
    await source(
      'main.ts',
      "import { didYouMean } from '@pith/plain-text';\nexport default class Mine { name = didYouMean('ab', ['abc']); }",
    );
    await expect(store().bundle(declaration(), 'main.ts')).rejects.toThrow("main.ts:1: Pith has no package '@pith/plain-text'");
    const others = createLoader({ dataDirectory: path.join(root, 'data'), packageRoot: packageRoot() });
    const { default: Mine } = (await importBundle((await others.bundle(declaration(), 'main.ts')).file, 1)) as {
      default: new () => object;
    };
    expect(new Mine()).toEqual({ name: " (did you mean 'abc'?)" });
  });

  it('K6 what two entries of what ships import is there once, in files that bear its id where it is of one extension', async () => {
    await source('state.ts', 'export const shared = { evaluated: 0 };\nshared.evaluated += 1;');
    const text = "import { z } from 'pith';\nimport { shared } from './state.ts';\nexport default { z, shared };";
    await Promise.all(['main.ts', 'commands.ts'].map((name) => source(name, text)));
    await ship();
    const [main, commands] = await Promise.all(
      ['main.ts', 'commands.ts'].map(async (entry) => {
        const { file } = await store().bundle(declaration(), entry);
        return (await importBundle(file, 1))['default'] as { z: unknown; shared: { evaluated: number } };
      }),
    );
    expect(main?.shared).toBe(commands?.shared);
    expect(main).toEqual({ z, shared: { evaluated: 1 } });
    // A reload: the entry afresh, with the same chunks.
    const again = (await importBundle((await store().bundle(declaration(), 'main.ts')).file, 2))['default'];
    expect(again).toEqual(main);
    expect(again).not.toBe(main);
    const chunks = await readdir(path.join(root, 'dist/newest/chunks'));
    expect(chunks.filter((name) => /^mine\.chunk-[A-Z0-9]{8}\.mjs$/.test(name))).toHaveLength(1);
  });

  it('K6 source maps of what was built name file and line, also of a shared file and beside an old module', async () => {
    await source(
      'shared.ts',
      "import { parse } from 'yaml';\n\nexport function fail(): never {\n  throw new Error(String(parse('bad')));\n}",
    );
    await Promise.all(['main.ts', 'commands.ts'].map((name) => source(name, "import { fail } from './shared.ts';\nexport default fail;")));
    await ship();
    const { file } = await store().bundle(declaration(), 'commands.ts');
    const text = `(await import(${JSON.stringify(file)})).default()`;
    const failed = promisify(execFile)(process.execPath, ['--enable-source-maps', '--input-type=module', '-e', text]);
    await expect(failed).rejects.toMatchObject({ stderr: expect.stringMatching(/\(.*extensions\/mine\/shared\.ts:4:9\)/) });
  });

  it('K6 a folder in the place of a bundle is left alone: the bundle has another name', async () => {
    await stampsHold(directory());
    const { file } = await store().bundle(declaration(), 'main.ts');
    await rm(file);
    await mkdir(path.join(file, 'in'), { recursive: true });
    const other = await store().bundle(declaration(), 'main.ts');
    expect(other).toEqual({ file: file.replace('.mjs', '-00000000.mjs'), shipped: false });
    expect(await readFile(other.file, 'utf8')).toContain('Mine');
    expect(await store().bundle(declaration(), 'main.ts')).toEqual(other);
    expect(await readdir(file)).toEqual(['in']);
  });

  it('K20 does not keep new sources under an old digest', async () => {
    const old = declaration();
    await source('main.ts', 'export default class Newer {}');
    const made = await store().bundle(old, 'main.ts');
    expect(await readFile(made.file, 'utf8')).toContain('Newer');
    await source(
      'main.ts',
      "import { z } from 'pith';\nimport { ulid } from 'ulid';\nexport default class Mine { getTools() { return [ulid, z.string()]; } }",
    );
    expect(declaration().digest).toBe(old.digest);
    expect(await readFile((await store().bundle(declaration(), 'main.ts')).file, 'utf8')).toContain('Mine');
  });

  it('K20 does not keep what it read while an editor wrote the same text again', async () => {
    const text = await readFile(path.join(directory(), 'main.ts'), 'utf8');
    const old = declaration();
    for (let turns = 0; turns < 40; turns += 1) {
      await source('main.ts', '');
      const making = store().bundle(old, 'main.ts');
      for (let turn = 0; turn < turns; turn += 1) await new Promise(setImmediate);
      await source('main.ts', text);
      await making;
      expect(await readFile((await store().bundle(declaration(), 'main.ts')).file, 'utf8')).toContain('Mine');
      await rm(path.join(root, 'data'), { recursive: true });
    }
  });

  it('K6 keeps the bundles of all entries as they are now, however many', async () => {
    const entries = ['main.ts', 'commands.ts', 'a.ts', 'b.ts', 'c.ts', 'd.ts', 'e.ts'];
    const bundles = async (text: string) => {
      for (const name of entries) await source(name, `export default '${text} ${name}';`);
      const made = await Promise.all(entries.map((entry) => store().bundle(declaration(), entry)));
      return made.map(({ file }) => path.basename(file)).sort();
    };
    const files = async () => (await readdir(path.join(root, 'data/.cache/bundles'))).sort();
    const first = await bundles('first');
    expect(await files()).toEqual(first);
    const second = await bundles('second');
    expect(await files()).toEqual(second);
  });

  it('K6 gives each bundle, shipped or not, the one contract of the copy of Pith that loads it', async () => {
    const another = () => ((globalThis as unknown as Record<symbol, unknown>)[Symbol.for('pith.contract')] = {});
    await source('main.ts', "import { z, PithError } from 'pith';\nexport default { z, PithError };");
    await ship();
    const load = async () => {
      const made = await store().bundle(declaration(), 'main.ts');
      another();
      return { shipped: made.shipped, exported: (await importBundle(made.file, 1))['default'] };
    };
    const shipped = await load();
    await source('note.ts', '');
    const own = await load();
    expect([shipped.shipped, own.shipped]).toEqual([true, false]);
    for (const { exported } of [shipped, own]) expect(exported).toEqual({ z, PithError });
  });

  it('shares one bundling among callers at the same time and leaves no temporary file', async () => {
    const shared = store();
    const [one, two] = await Promise.all([shared.bundle(declaration(), 'main.ts'), shared.bundle(declaration(), 'main.ts')]);
    expect(one).toBe(two);
    expect(await readdir(path.join(root, 'data/.cache/bundles'))).toEqual([path.basename(one.file)]);
  });
});
