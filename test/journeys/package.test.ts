import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { putFiles } from './pith-process.ts';
import { words } from '../words.ts';
import { bundledPackages, isAllowed } from '../../scripts/release/installed-packages.ts';
import { packageContents } from '../../scripts/release/package-contents.ts';
import { fileOfList, readList, releaseOf } from '../../scripts/release/surface.ts';
import { listProblems } from '../../scripts/release/surface-list.ts';
import { compileTypes } from '../../scripts/release/use-package.ts';
import { toolExtension } from './sandbox-files.ts';

const run = promisify(execFile);
/** What the database needs, copied so that it can be read by everybody; all other packages are links to this checkout's. */
const COPIED = ['@photostructure/sqlite', 'node-gyp-build'];
const NOBODY = 65_534;

let project: string;
let installed: string;
let files: readonly string[];

/** As `npm install pith-<version>.tgz` leaves a project, without a network: what is packed, and the packages that it depends on. */
beforeAll(async () => {
  project = await realpath(await mkdtemp(path.join(os.tmpdir(), 'pith-package-')));
  await chmod(project, 0o755);
  const pack = ['pack', '--json', '--offline', '--ignore-scripts', '--pack-destination', project];
  const { stdout } = await run('npm', pack, { maxBuffer: 1 << 24 });
  const [packed] = JSON.parse(stdout) as [{ filename: string; files: readonly { path: string }[] }];
  files = packed.files.map((file) => file.path);
  installed = path.join(project, 'node_modules/pith');
  await mkdir(installed, { recursive: true });
  await run('tar', ['xzf', path.join(project, packed.filename), '-C', installed, '--strip-components=1', '--no-same-owner']);
  const { dependencies } = JSON.parse(await readFile(path.join(installed, 'package.json'), 'utf8')) as { dependencies: object };
  for (const name of new Set([...COPIED, ...Object.keys(dependencies)])) {
    const place = path.join(project, 'node_modules', name);
    await mkdir(path.dirname(place), { recursive: true });
    if (COPIED.includes(name)) await cp(path.resolve('node_modules', name), place, { recursive: true });
    else await symlink(path.resolve('node_modules', name), place);
  }
  await writeFile(path.join(project, 'package.json'), '{ "private": true, "type": "module" }');
});
afterAll(() => rm(project, { recursive: true, force: true, maxRetries: 3 }));

/** A conversation in an own home, in which everything is kept. */
async function chat(
  lines: readonly string[],
  files: Readonly<Record<string, string>>,
  user: { readonly uid?: number; readonly gid?: number } = {},
) {
  const home = await mkdtemp(path.join(project, 'home-'));
  await putFiles(path.join(home, 'sandbox'), { 'pith.yaml': '', ...files });
  if (user.uid !== undefined) await run('chown', ['-R', `${user.uid}:${user.gid}`, home]);
  const env = { PATH: process.env['PATH'], HOME: home, PITH_TRUST: '1', PITH_MODEL: 'offline/librarian' };
  const ran = run(process.execPath, [path.join(installed, 'bin/pith'), 'chat', '--lines'], { cwd: home, env, ...user });
  ran.child.stdin!.end(lines.join('\n'));
  return ran;
}

describe('use.md 2: Pith as a package', () => {
  it('use.md 2: holds one build whole and what ships, and neither sources of Pith nor what a person keeps', async () => {
    const builds = new Set(files.flatMap((file) => /^dist\/([0-9a-f]{16})\//.exec(file)?.[1] ?? []));
    expect([...builds]).toHaveLength(1);
    const shipped = words(`
      bin/pith dist/contract.js sandbox/extensions/offline/manifest.yaml sandbox/skills/code-review/SKILL.md
      sandbox/saved_skills/review-changes/skill.yml sandbox/extensions/skill_search/vectors/english.bin
      sandbox/extensions/skill_search/vectors/LICENSE
    `);
    expect(files).toEqual(expect.arrayContaining(shipped));
    expect(files.filter((file) => /^(?:core|scripts|test|docs)\/|^sandbox\/(?:data|pith\.yaml)|\/(?:users|compiled)\//.test(file))).toEqual(
      [],
    );
  });

  it('U50 U41 holds what the checked-in list says', () => {
    const list = readList('.', 'contents');
    expect(listProblems(list, packageContents(files), releaseOf('.', list.released)), fileOfList('contents')).toEqual([]);
    expect(files.filter((file) => /\.(?:map|tsbuildinfo|log|tgz)$|\.test\.|(?:^|\/)\./.test(file))).toEqual([]);
  });

  it('U41 has the licence of each package whose code is built into it', async () => {
    const file = files.find((each) => each.endsWith('/licences.txt'))!;
    const licences = await readFile(path.join(installed, file), 'utf8');
    const bundled = bundledPackages(licences);
    expect(bundled.map(({ name }) => name)).toEqual(expect.arrayContaining(['croner', 'ipaddr.js', 'kysely', 'nunjucks']));
    expect(bundled.filter(({ license }) => !isAllowed(license))).toEqual([]);
    expect(licences.split('Permission is hereby granted').length).toBeGreaterThan(3);
  });

  it('U41 a project that links to where it is installed is installed', async () => {
    const { stdout } = await run('npm', ['run', 'prepare'], { cwd: installed });
    expect(stdout).not.toContain('building');
  });

  it.each([
    ['a packed file', 'file:./packed.tgz', 'file:../packed.tgz', 'packed.tgz'],
    ['a packed file that is gone', 'file:./gone.tgz', 'file:../node_modules/pith', 'node_modules/pith'],
    ['a git address', 'git+ssh://git@example.com/pith.git', 'git+ssh://git@example.com/pith.git', null],
  ])('U41 where it was installed from %s, `init` makes projects that install it from there', async (name, source, dependency, file) => {
    const place = name.replaceAll(' ', '-');
    const [fresh, old] = [`${place}-fresh`, `${place}-old`];
    const own = await readFile(path.join(project, 'package.json'), 'utf8');
    await putFiles(project, {
      'packed.tgz': '',
      [`${old}/package.json`]: '{}',
      'package.json': JSON.stringify({ ...(JSON.parse(own) as object), dependencies: { pith: source } }),
    });
    const env = { PATH: process.env['PATH'], HOME: path.join(project, fresh) };
    const init = (at: string) => run(process.execPath, [path.join(installed, 'bin/pith'), 'init', at], { cwd: project, env });
    await init(fresh);
    expect(JSON.parse(await readFile(path.join(project, fresh, 'package.json'), 'utf8'))).toMatchObject({
      dependencies: { pith: dependency },
    });
    const argument = file === null ? `pith@${source}` : path.join(project, file);
    expect((await init(old)).stdout).toContain(`\n  npm install ${argument} `);
    await writeFile(path.join(project, 'package.json'), own);
  });

  it('U41 its types compile in a project that checks libraries too', async () => {
    const write = (name: string, text: string) => writeFile(path.join(project, name), text);
    const node = async (argv: readonly string[]) => (await run(process.execPath, argv, { cwd: project })).stdout;
    expect(await compileTypes({ folder: project, installed, write, node }, 'node16')).toMatch(/^\d+ entries$/u);
  });

  it('use.md 2: answers a message, its extensions come from the build, and one of the project is loaded and its types are checked', async () => {
    const hello = toolExtension('hello', 'say_hello', "didYouMean('hallo', ['hello'])");
    hello['extensions/hello/main.ts'] = `import { didYouMean } from '@pith/plain-text';\n${hello['extensions/hello/main.ts']}`;
    const { stdout } = await chat(['hello', '/doctor', '/tools call say_hello', '/extensions validate hello'], hello);
    expect(stdout).toContain('offline librarian');
    expect(stdout).toContain('All is well');
    expect(stdout).toContain("did you mean 'hello'?");
    expect(stdout).toContain('hello: passes');
    const cases = await run(process.execPath, [path.join(installed, 'bin/pith'), 'skills', 'conformance', '--cases'], { cwd: project });
    expect(cases.stdout).toContain('hostile-shell');
    expect((await readdir(installed)).sort()).toEqual(['CHANGELOG.md', 'LICENSE', 'README.md', 'bin', 'dist', 'package.json', 'sandbox']);
  });

  it('use.md 2: is imported as `pith` and `pith/testing`, with one contract', async () => {
    const text = `import { PithError } from 'pith';
import { testKernel } from 'pith/testing';
const test = await testKernel();
const error = await test.kernel.agents.callTool('nobody', 'nothing', {}).catch((error) => error);
console.log(error instanceof PithError, error.code);
await test.stop();`;
    await writeFile(path.join(project, 'own.mjs'), text);
    expect((await run(process.execPath, ['own.mjs'], { cwd: project })).stdout).toBe('true agent_unknown\n');
  });

  it('U40 U41 a folder of skills becomes an agent in ten lines', async () => {
    await putFiles(project, {
      'skills/tea/SKILL.md': '---\nname: tea\ndescription: Makes tea. Use when asked for tea.\n---\n# Tea\n\nPour it at 80 degrees.\n',
    });
    const text = `import { createPith } from 'pith/embed';

const pith = await createPith({ skills: ['skills'], model: 'offline/librarian' });
const { text } = await pith.run('how do I make tea?').result;
console.log(text);
await pith.close();`;
    await writeFile(path.join(project, 'embed.mjs'), text);
    const { stdout, stderr } = await run(process.execPath, ['embed.mjs'], { cwd: project });
    expect([stdout.includes('Pour it at 80 degrees.'), stderr]).toEqual([true, '']);
    expect((await readdir(project)).filter((name) => name === 'sandbox' || name === '.pith')).toEqual([]);
  });

  it('U40 U45 the programs of the page on embedding run as they stand', async () => {
    const page = await readFile('docs/embed.md', 'utf8');
    const [first, second, third, ...others] = [...page.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, text]) => text!);
    expect(others).toEqual([]);
    const programs = {
      'first.mjs': first!.replace('openai/gpt-5-mini', 'offline/librarian'),
      'second.mjs': second!,
      'third.mjs': `const pool = new Map();\n${POSTGRES_LOG}\n${third}`,
    };
    await putFiles(project, {
      'skills/tea/SKILL.md': '---\nname: tea\ndescription: Makes tea. Use for tea.\n---\nPour it.\n',
      ...programs,
    });
    for (const file of Object.keys(programs)) {
      const ran = await run(process.execPath, [file], { cwd: project });
      expect(ran.stderr, file).toBe('');
      expect(ran.stdout, file).toMatch(file === 'third.mjs' ? /^# fail 0$/m : file === 'first.mjs' ? /./ : /^$/);
    }
  });

  it('U41 an error that a program does not catch is short, with its cure', async () => {
    const text = `import { createPith } from 'pith/embed';\nawait createPith({ modle: 'offline/librarian' });`;
    await writeFile(path.join(project, 'failing.mjs'), text);
    const { stderr } = await run(process.execPath, ['failing.mjs'], { cwd: project }).catch((error) => error);
    expect(stderr).toContain('PithError');
    expect(stderr.length).toBeLessThan(2_500);
  });

  it.skipIf(process.getuid?.() !== 0)('use.md 17: another user than the one who installed it runs it', async () => {
    expect((await chat(['hello'], {}, { uid: NOBODY, gid: NOBODY })).stdout).toContain('offline librarian');
  });
});

/** What the page leaves to its reader. */
const POSTGRES_LOG = `class PostgresLog {
  constructor(threads) { this.threads = threads; }
  async read(thread, from, limit) { return (this.threads.get(thread) ?? []).slice(from, from + limit); }
  async append(thread, length, entries) {
    const held = this.threads.get(thread) ?? [];
    if (held.length !== length) return false;
    this.threads.delete(thread);
    this.threads.set(thread, [...held, ...entries]);
    return true;
  }
  async list(limit) { return [...this.threads.keys()].toReversed().slice(0, limit); }
  async remove(thread) { this.threads.delete(thread); }
}`;
