import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, realpath, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';

const LOADER = path.resolve('bin/code-cache.js');
const { codeCacheFile } = createRequire(import.meta.url)(LOADER) as { codeCacheFile(dist: string, name: string): string };

/** What a program of two files prints: 'one ' and 'two ' and where an error on its first line was made. */
const MAIN = "const t = require('./part.cjs'); exports.at = new Error('x').stack; exports.say = () => 'one ' + t.two();\n";
const PART = "exports.two = () => (/^[—…]$/.test('\\u2014') ? 'two' : 'garbled');\n";
const ASIDE = "exports.module = () => import('./module.mjs');\n";
const SAID = 'one two main.cjs:1:47 esm true';

const RECORD = `const [,, loader, dist, target] = process.argv; const write = require(loader).recordCode(dist);
require(dist + '/aside.cjs'); const m = require(dist + '/main.cjs'); m.say(); write(target);`;
const RUN = `const [,, loader, dist] = process.argv; const load = require(loader).useCodeCache(dist, 'x');
const main = dist + '/main.cjs', m = load(main), part = load(dist + '/part.cjs');
load(dist + '/aside.cjs').module().then(({ default: kind }) =>
  console.log(m.say(), /main\\.cjs:\\d+:\\d+/.exec(m.at)[0], kind, require(main) === m && require('node:module').createRequire(main)('./part.cjs') === part));`;

const run = promisify(execFile);
let folder = '';
beforeAll(async () => {
  folder = await realpath(await mkdtemp(path.join(os.tmpdir(), 'pith-code-cache-')));
  await writeFile(path.join(folder, 'record.cjs'), RECORD);
  await writeFile(path.join(folder, 'run.cjs'), RUN);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** As the loader sums its index. */
const sumOf = (text: string): number =>
  [...text].reduce((sum, character) => Math.imul(sum ^ character.charCodeAt(0), 0x01000193), text.length) >>> 0;

let count = 0;
/** A program with the cache of its code. */
async function program(): Promise<{ dist: string; cache: string; part: string }> {
  const dist = path.join(folder, String(count++));
  await mkdir(path.join(dist, 'code'), { recursive: true });
  for (const [name, text] of Object.entries({
    'main.cjs': MAIN,
    'part.cjs': PART,
    'aside.cjs': ASIDE,
    'module.mjs': "export default 'esm';",
  }))
    await writeFile(path.join(dist, name), text);
  const part = path.join(dist, 'part.cjs');
  await utimes(part, 1, 1);
  const cache = codeCacheFile(dist, 'x');
  await run(process.execPath, [path.join(folder, 'record.cjs'), LOADER, dist, cache]);
  return { dist, cache, part };
}

async function says(dist: string, ...options: string[]): Promise<string> {
  return (await run(process.execPath, [...options, path.join(folder, 'run.cjs'), LOADER, dist])).stdout.trim();
}

it('code kept by the build runs as the files do, each once, with its place in stack traces and its late imports', async () => {
  const { dist, part } = await program();
  expect(await says(dist)).toBe(SAID);
  // Proof that it was used: stamps that lie hide a change.
  await writeFile(part, PART.replace("'two'", "'new'"));
  await utimes(part, 1, 1);
  expect(await says(dist)).toBe(SAID);
});

it('a file that changed since is compiled anew, also one of the same length, and a dist that was moved', async () => {
  const { dist, part } = await program();
  await cp(dist, `${dist}-moved`, { recursive: true });
  expect(await says(`${dist}-moved`)).toBe(SAID);
  await writeFile(part, PART.replace("'two'", "'new'"));
  await utimes(part, 2, 2);
  expect(await says(dist)).toBe(SAID.replace('two', 'new'));
});

it('a damaged, shortened or missing cache and one of other V8 options harm nothing', async () => {
  const { dist, cache } = await program();
  expect(await says(dist, '--no-opt', '--stack-size=900')).toBe(SAID);
  expect(await says(dist, '--enable-source-maps')).toBe(SAID);
  const whole = await readFile(`${cache}.bin`);
  const header = await readFile(`${cache}.json`, 'utf8');
  const { rows } = JSON.parse(header) as { rows: { at: number; codeAt: number; end: number }[] };
  const flipped = (offsets: readonly number[]) => {
    const bytes = Buffer.from(whole);
    for (const at of offsets) bytes[at]! ^= 0x5a;
    return bytes;
  };
  const damaged = [flipped(rows.map(({ at }) => at + 80)), flipped(rows.map(({ codeAt, end }) => Math.floor((codeAt + end) / 2)))];
  for (const bytes of [...damaged, whole, whole.subarray(0, -8), Buffer.alloc(0)]) {
    await writeFile(`${cache}.bin`, bytes);
    expect(await says(dist)).toBe(SAID);
  }
  for (const text of [header.slice(0, 40), '{}', '']) {
    await writeFile(`${cache}.json`, text);
    expect(await says(dist)).toBe(SAID);
  }
  await writeFile(`${cache}.bin`, whole);
  // Whatever an index says of places, whether it was damaged or made so: nothing outside of them is given to V8.
  const index = JSON.parse(header) as { rows: Record<string, unknown>[]; sum: number };
  const rowsOf = (changed: Record<string, unknown>) => index.rows.map((row) => ({ ...row, ...changed }));
  for (const changed of [
    null,
    [null],
    rowsOf({ codeAt: 8 }),
    rowsOf({ at: -1 }),
    rowsOf({ end: 2 ** 40 }),
    rowsOf({ file: 7 }),
    rowsOf({ length: 'x' }),
  ]) {
    const { size, mtimeMs, ctimeMs, ino } = await stat(`${cache}.bin`);
    const { sum, ...rest } = { ...index, rows: changed, stamps: [size, mtimeMs, ctimeMs, ino] };
    for (const text of [JSON.stringify({ ...rest, sum }), JSON.stringify({ ...rest, sum: sumOf(JSON.stringify(rest)) })]) {
      await writeFile(`${cache}.json`, text);
      expect([changed, await says(dist)]).toEqual([changed, SAID]);
    }
  }
  await rm(`${cache}.json`);
  expect(await says(dist)).toBe(SAID);
});
