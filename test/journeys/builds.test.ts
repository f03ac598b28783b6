import { execFile, spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { watch } from 'node:fs';
import { appendFile, cp, mkdtemp, readdir, readFile, realpath, rename, rm, symlink, utimes } from 'node:fs/promises';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { putFiles } from './pith-process.ts';
import { toolExtension } from './sandbox-files.ts';

const run = promisify(execFile);
const COPIED = ['bin', 'core', 'packages', 'scripts', 'package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json'];
/** What makes the declarations. */
const COMPILER = 'typescript-7';
const NO_TYPES = `require('node:fs').mkdirSync(process.argv[process.argv.indexOf('--outDir') + 1], { recursive: true });\n`;

let folder: string;
let copy: string;
let env: NodeJS.ProcessEnv;

/** Pith's checkout once more, with the packages and the build of this one. Builds of it leave out the declarations, which take long. */
beforeAll(async () => {
  folder = await realpath(await mkdtemp(path.join(os.tmpdir(), 'pith-builds-')));
  copy = path.join(folder, 'pith');
  for (const name of COPIED) await cp(path.resolve(name), path.join(copy, name), { recursive: true });
  for (const name of ['agents', 'extensions', 'recipes', 'skills'])
    await cp(path.resolve('sandbox', name), path.join(copy, 'sandbox', name), { recursive: true });
  await putFiles(path.join(copy, 'node_modules', COMPILER), { 'package.json': '{ "version": "7.0.2" }', 'bin/tsc': NO_TYPES });
  for (const name of await readdir('node_modules'))
    if (name !== COMPILER) await symlink(path.resolve('node_modules', name), path.join(copy, 'node_modules', name));
  const project = path.join(folder, 'project/sandbox');
  await putFiles(project, { 'pith.yaml': '', ...toolExtension('hello', 'say_hello', "'hello'") });
  env = { PATH: process.env['PATH'], HOME: folder, PITH_TRUST: '1', PITH_MODEL: 'offline/librarian', PITH_SANDBOX: project };
  const { build: built } = JSON.parse(await readFile('dist/build.json', 'utf8')) as { build: string };
  const ofOthers = /\/(?:users|compiled)$/; // of processes that run from it meanwhile
  await cp(path.join('dist', built), path.join(copy, 'dist', built), { recursive: true, filter: (from) => !ofOthers.test(from) });
  await build();
}, 120_000);
afterAll(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }));

const build = () => run(process.execPath, ['scripts/build.mjs'], { cwd: copy });
const pith = (...argv: string[]) => run(process.execPath, [path.join(copy, 'bin/pith'), ...argv], { cwd: folder, env });
const builds = async () => (await readdir(path.join(copy, 'dist'))).filter((name) => /^[0-9a-f]{16}$/.test(name));
const newest = async () => (JSON.parse(await readFile(path.join(copy, 'dist/build.json'), 'utf8')) as { build: string }).build;
const edit = () => appendFile(path.join(copy, 'core/main.ts'), `// ${Math.random()}\n`);
/** A build after an edit that changes nothing that runs: what would be made, is there. */
async function buildSame(): Promise<void> {
  await edit();
  await cp(path.join(copy, 'dist', await newest()), path.join(copy, 'dist', digestNow()), { recursive: true });
  await build();
}
function digestNow(): string {
  const { digestOf } = createRequire(`${copy}/`)('./scripts/checkout.cjs') as { digestOf(root: string): string };
  return digestOf(copy);
}

/** A chat that is told a line at a time. */
function openChat(): { child: ChildProcessWithoutNullStreams; says: (line: string, answer: RegExp) => Promise<void>; err: () => string } {
  const child = spawn(process.execPath, [path.join(copy, 'bin/pith'), 'chat', '--lines'], { cwd: folder, env, stdio: 'pipe' });
  let [out, err] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
  return {
    child,
    err: () => err,
    async says(line, answer) {
      out = '';
      child.stdin.write(`${line}\n`);
      await expect.poll(() => out, { message: `${line}: ${err}` }).toMatch(answer);
    },
  };
}

describe('U41 a build in a new clone', () => {
  it('U41 says what to run where nothing is installed', async () => {
    await cp('scripts', path.join(folder, 'clone/scripts'), { recursive: true });
    const failed = await run(process.execPath, ['clone/scripts/build.mjs'], { cwd: folder }).catch((error) => error);
    expect(failed).toMatchObject({ code: 1, stdout: '' });
    expect(failed.stderr).toMatch(/^pith: dist\/ cannot be built: Cannot find module 'esbuild\/package\.json'; run: npm ci\n$/);
  });
});

describe('use.md 1: builds beside a chat', () => {
  it('use.md 1: a chat answers every turn and every command while builds replace the one that it runs from, and after; a damaged build is made again', async () => {
    const chat = openChat();
    await chat.says('how do I debug?', /offline librarian/);
    const own = await newest();
    await edit();
    const index = path.join(copy, 'dist', digestNow(), 'ext/index.json');
    await putFiles(path.dirname(index), { 'index.json': '{' }); // a damaged build of this name is made again
    const seen = watch(path.join(copy, 'dist'));
    const state = { building: true };
    const builder = build().finally(() => (state.building = false));
    while (state.building) {
      await chat.says('review my extension for best practices', /From the skill/);
      await chat.says('/skills list', /code-review/);
      await Promise.race([once(seen, 'change'), builder]); // when something is made there, or takes its place
    }
    seen.close();
    expect(await newest()).not.toBe(own);
    expect(JSON.parse(await readFile(index, 'utf8'))).toHaveProperty('kv');
    // What this chat has loaded nothing of so far.
    await chat.says('/doctor --all', /hello/);
    await chat.says('/extensions reload hello\n/tools list', /say_hello/);
    await chat.says('/tasks list', /task/i);
    await chat.says('/recipes list', /review/);
    await chat.says('brainstorm about gardens', /From the skill/);
    expect(chat.err()).not.toMatch(/Cannot find|not built|unknown/);

    // However long it runs: builds keep what a process runs from, and only that.
    const past = new Date(Date.now() - 48 * 60 * 60 * 1000);
    const age = async () => Promise.all((await builds()).map((name) => utimes(path.join(copy, 'dist', name), past, past)));
    await age();
    await buildSame();
    expect(await builds()).toHaveLength(3); // the chat's, the one before and the newest
    expect(await builds()).toContain(own);
    chat.child.stdin.end();
    await new Promise((resolve) => chat.child.on('close', resolve));
    await age();
    await buildSame();
    expect(await builds()).not.toContain(own);
  }, 180_000);

  it('use.md 1: where nothing has changed a build writes nothing, also where times have; a command of a build that is older than its sources says so in one line', async () => {
    const before = await newest();
    const listing = async () => (await run('find', ['dist', '-printf', '%p %T@ %C@\\n'], { cwd: copy })).stdout;
    const listed = await listing();
    await build();
    expect(await listing()).toBe(listed);
    const now = new Date();
    await utimes(path.join(copy, 'core/main.ts'), now, now);
    // A person's extension beside the shipped ones is no part of what was built.
    await putFiles(path.join(copy, 'sandbox'), toolExtension('own', 'say_own', "'own'"));
    expect(await pith('tools', 'list')).toMatchObject({ stderr: '' });
    await rm(path.join(copy, 'sandbox/extensions/own'), { recursive: true });
    await build();
    expect(await newest()).toBe(before);

    await edit();
    const { stdout, stderr } = await pith('skills', 'list', '--json');
    expect(JSON.parse(stdout)).toBeInstanceOf(Array);
    expect(stderr).toMatch(/^pith: dist\/ is older than its sources[^\n]*run `npm run build` in [^\n]*\n$/);
    expect((await pith('--version')).stderr).toBe('');
  });
});

it('use.md 1: a build is named also where a source is gone, or a pipe or a link to one lies among them', async () => {
  const pipe = path.join(copy, 'sandbox/extensions/kv/pipe');
  await run('mkfifo', [pipe]);
  await symlink(pipe, `${pipe}-link`);
  const lock = path.join(copy, 'package-lock.json');
  await rename(lock, `${lock}.gone`);
  const digest = digestNow();
  await rm(pipe);
  await rm(`${pipe}-link`);
  await rename(`${lock}.gone`, lock);
  expect(digest).toMatch(/^[0-9a-f]{16}$/u);
  expect(digestNow()).not.toBe(digest);
});
