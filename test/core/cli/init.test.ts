import { mkdir, symlink, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { packageRoot } from '../../../core/declarations/index.ts';
import { cli } from './fakes.ts';
import { words } from '../../words.ts';
import { folderWith } from '../../places.ts';

let folder: string;
beforeEach(() => void (folder = folderWith()));

type Made = { readonly devDependencies: Readonly<Record<string, string>> };
const read = (file: string) => readFile(path.join(folder, file), 'utf8');

describe('pith init', () => {
  it('K7 makes settings, one agent, one skill and one extension, and says what to do next', async () => {
    expect((await cli(['init', 'an other'], { cwd: folder })).out).toContain("\n  cd 'an other'\n"); // use.md LOW
    const ran = await cli(['init', 'mine'], { cwd: folder });
    expect(ran).toMatchObject({ code: 0, err: '' });
    for (const text of ['Made a sandbox in mine/sandbox', 'cd mine', 'pith chat', 'pith doctor']) expect(ran.out).toContain(text);
    const files = await readdir(path.join(folder, 'mine/sandbox'), { recursive: true });
    for (const file of words(`
      pith.yaml agents/assistant/manifest.yaml agents/assistant/prompt.jinja2 skills/hello/SKILL.md
      extensions/hello_tool/manifest.yaml extensions/hello_tool/main.ts
    `))
      expect(files).toContain(file);
    expect(parse(await read('mine/sandbox/pith.yaml'))).toEqual({ default_agent: 'assistant' });
  });

  it.runIf(process.platform === 'linux')(
    'use.md: ends with a clear error where nothing can be written, also where a folder is there and refuses',
    async () => {
      const { code, out, err } = await cli(['init', '/proc/pith-init'], { cwd: folder });
      expect({ code, out }).toEqual({ code: 1, out: '' });
      expect(err).toMatch(
        /^pith: no sandbox was made in \/proc\/pith-init: E\w+: .*; name a folder that you may write: pith init <dir>\n$/u,
      );
      await writeFile(path.join(folder, 'file'), '');
      expect(await cli(['init', 'file/below'], { cwd: folder })).toMatchObject({
        code: 2,
        err: expect.stringContaining('is a file; name a folder'),
      });
    },
  );

  it('overwrites nothing, and then writes nothing', async () => {
    await cli(['init', 'sandbox'], { cwd: folder });
    expect(await readdir(folder)).toContain('sandbox'); // a folder of that name is the sandbox itself
    await writeFile(path.join(folder, 'sandbox/pith.yaml'), '# mine\n');
    await rm(path.join(folder, 'sandbox/skills'), { recursive: true });
    expect(await cli(['init'], { cwd: folder })).toMatchObject({
      code: 2,
      err: expect.stringMatching(/^pith: no sandbox was made: .*sandbox is not empty; name another folder: pith init <dir>/u),
    });
    expect(await read('sandbox/pith.yaml')).toBe('# mine\n');
    expect(await readdir(path.join(folder, 'sandbox'))).not.toContain('skills');
  });

  it('T1 trusts what it made, and nothing that lay there: neither code of others nor what a link leads to', async () => {
    const elsewhere = path.join(folder, 'elsewhere');
    await mkdir(path.join(folder, 'clone/sandbox/extensions/evil'), { recursive: true });
    await mkdir(path.join(folder, 'linked'));
    await mkdir(elsewhere);
    await symlink(elsewhere, path.join(folder, 'linked/sandbox'));
    for (const name of ['clone', 'linked']) expect(await cli(['init', name], { cwd: folder })).toMatchObject({ code: 2 });
    expect(await readdir(elsewhere)).toEqual([]);
    await cli(['init', 'mine'], { cwd: folder });
    const listed = JSON.parse((await cli(['trust', '--list', '--json'], { cwd: folder })).out) as readonly { sandbox: string }[];
    const here = listed.map(({ sandbox }) => sandbox).filter((sandbox) => sandbox.startsWith(folder));
    expect(here).toEqual([path.join(folder, 'mine/sandbox')]);
  });

  it('lists its files under --json', async () => {
    const ran = await cli(['init', '--json'], { cwd: folder });
    expect(JSON.parse(ran.out)).toMatchObject({
      ok: true,
      sandbox: path.join(folder, 'sandbox'),
      files: expect.arrayContaining(['pith.yaml']) as unknown,
    });
  });

  it('K7 makes a project in which npm and an editor find Pith, and leaves a project that exists as it is', async () => {
    const fresh = await cli(['init', 'mine'], { cwd: folder });
    expect(fresh.out).toMatch(/npm install .*\n {2}npx pith chat/u);
    const made = JSON.parse(await read('mine/package.json')) as { dependencies: { pith: string } };
    expect(made).toMatchObject({ name: 'mine', private: true, type: 'module' });
    expect(path.resolve(folder, 'mine', made.dependencies.pith.replace('file:', ''))).toBe(packageRoot());
    expect(JSON.parse(await read('mine/tsconfig.json'))).toMatchObject({ compilerOptions: { module: 'NodeNext' } });
    const vitest = (await import(path.join(folder, 'mine/vitest.config.mjs'))) as { default: { test: { testTimeout: number } } };
    expect(vitest.default.test.testTimeout).toBeGreaterThanOrEqual(60_000); // vitest's own 5 s were too few for a first run

    await mkdir(path.join(folder, 'old'));
    await writeFile(path.join(folder, 'old/package.json'), '{"name":"old"}');
    const existing = await cli(['init', 'old'], { cwd: folder });
    expect(existing.out).toContain(`npm install ${packageRoot()}`);
    expect(await read('old/package.json')).toBe('{"name":"old"}');
  });

  it('U49 makes a first test, and a script that runs it with the vitest that Pith is tested with', async () => {
    const { out } = await cli(['init', 'mine'], { cwd: folder });
    expect(await read('mine/test/first-test.test.ts')).toContain("expectSkillLoaded(turn, 'hello')"); // author-tests.test.ts runs it
    const { devDependencies } = JSON.parse(await readFile(path.join(packageRoot(), 'package.json'), 'utf8')) as Made;
    expect(JSON.parse(await read('mine/package.json'))).toMatchObject({
      scripts: { test: 'vitest run' },
      devDependencies: { vitest: devDependencies['vitest'] },
    });
    expect(out).toMatch(/^ {2}npm test +run the tests, of which test\/first-test\.test\.ts is the first$/mu);
    expect(out).not.toContain('npm pkg set');
  });

  it.each([
    ['no script', {}, ['npm install --save-dev vitest@', 'npm pkg set scripts.test="vitest run"', 'npm test ']],
    [
      'the script of npm init',
      { scripts: { test: 'echo "Error: no test specified" && exit 1' } },
      ['npm pkg set scripts.test=', 'npm test '],
    ],
    ['vitest', { scripts: { test: 'vitest --run' }, devDependencies: { vitest: '4.0.0' } }, ['npm test ']],
    ['another runner', { scripts: { test: 'node --test' } }, ['npm install --save-dev vitest@', 'npx vitest run ']],
    ['what is no package', { scripts: 'test' }, ['npm pkg set scripts.test=', 'npm test ']],
  ])('U49 in a project with %s it changes nothing and says what to add', async (_, existing, steps) => {
    await writeFile(path.join(folder, 'package.json'), JSON.stringify(existing));
    await writeFile(path.join(folder, 'vite.config.ts'), 'export default {};\n');
    const { out } = await cli(['init'], { cwd: folder });
    expect(await read('package.json')).toBe(JSON.stringify(existing));
    expect(await readdir(folder)).not.toContain('vitest.config.mjs');
    for (const step of [...steps, 'testTimeout: 120_000 ']) expect(out).toContain(`\n  ${step}`);
    expect(out.includes('npm pkg set')).toBe(steps.some((step) => step.startsWith('npm pkg set')));
    expect(out.includes('--save-dev')).toBe(!('devDependencies' in existing));
  });
});
