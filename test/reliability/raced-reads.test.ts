import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { Jail, type Reach } from '@pith/safe-files';
import { listResources, readResource, readSkillFile } from '@pith/skill-files';

/** 300, in the long form (`npm run test:soak`) 200,000. */
const READS = process.env['PITH_TEST_LONG'] === '1' ? 200_000 : 300;
const AT_ONCE = 4;

/** Swaps files, links, second names and folders for one another as fast as it can, until it is killed. */
const SWAPPER = `
  const fs = require('node:fs');
  const [play, out] = process.argv.slice(1);
  const attempt = (run) => { try { run(); } catch (error) { if (!error.code) throw error; } };
  const file = play + '/file.txt', folder = play + '/folder';
  const gone = () => fs.rmSync(file, { force: true });
  const swaps = [
    () => { gone(); fs.writeFileSync(file, 'inside'); },
    () => { gone(); fs.symlinkSync(out + '/file.txt', file); },
    () => { gone(); fs.linkSync(out + '/file.txt', file); },
    gone,
    () => { fs.linkSync(out + '/file.txt', file); fs.unlinkSync(file); fs.linkSync(out + '/file.txt', file); fs.unlinkSync(file); },
    () => { fs.writeFileSync(play + '/next', 'inside'); fs.renameSync(play + '/next', file); },
    () => { fs.renameSync(folder, play + '/parked'); fs.symlinkSync(out, folder); },
    () => { fs.rmSync(folder, { force: true }); fs.renameSync(play + '/parked', folder); },
    () => { fs.renameSync(folder, out + '/taken'); fs.renameSync(out + '/taken', folder); },
  ];
  process.stdout.write('ready');
  for (;;) for (const swap of swaps) attempt(swap);
`;

it.each<Reach>(['descriptor', 'working_folder'])(
  'T18 F22 S12 S41 S44: by the %s, reads that race with swapped files, links, second names and folders give nothing from outside',
  { timeout: 3_600_000 },
  async (reach) => {
    const root = await realpath(await mkdtemp(path.join(tmpdir(), 'pith-raced-')));
    const [sandbox, outside] = [path.join(root, 'sandbox'), path.join(root, 'outside')];
    for (const folder of ['sandbox/play/folder', 'outside/folder']) await mkdir(path.join(root, folder), { recursive: true });
    await writeFile(path.join(sandbox, 'play/folder/file.txt'), 'inside');
    for (const name of ['file.txt', 'folder/file.txt', 'only.txt']) await writeFile(path.join(outside, name), 'OUTSIDE');
    const swapper = spawn(process.execPath, ['-e', SWAPPER, path.join(sandbox, 'play'), outside], { stdio: ['ignore', 'pipe', 'inherit'] });
    const closed = once(swapper, 'close');
    const seen = new Map<string, number>();
    try {
      await Promise.race([once(swapper.stdout, 'data'), closed]);
      const jail = new Jail(sandbox, reach);
      const places = [
        ['play', 'file.txt'],
        ['play', 'folder', 'file.txt'],
        ['play', 'folder', 'only.txt'],
      ];
      const folder = path.join(sandbox, 'play');
      const ways: readonly ((names: readonly string[]) => Promise<string>)[] = [
        (names) => jail.read(names, async (handle) => (await handle.readFile()).toString()),
        async (names) => {
          const resource = await readResource(folder, names.slice(1).join('/'), { reach });
          return resource.kind === 'text' ? resource.text : 'file_unavailable';
        },
        async (names) => {
          const read = await readSkillFile(path.join(sandbox, ...names), [sandbox], reach);
          return typeof read === 'string' ? 'file_unavailable' : read.text;
        },
        async () => ((await listResources(folder, reach)).entries.some(({ path: file }) => file.endsWith('only.txt')) ? 'OUTSIDE' : ''),
      ];
      let done = 0;
      const isOn = () => seen.has('inside') && seen.has('file_unavailable'); // both kinds of answers come
      const reader = async () => {
        while (done < READS || !isOn()) {
          const [names, read] = [places[done % places.length] ?? [], ways[Math.floor(done / places.length) % ways.length]];
          done += 1;
          const text = await read!(names).catch((error: { code?: string }) => error.code ?? 'unknown');
          seen.set(text, (seen.get(text) ?? 0) + 1);
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, reader));
    } finally {
      swapper.kill('SIGKILL');
      await closed;
    }
    const figures = `${READS} raced reads: ${[...seen].map(([text, count]) => `${text || 'empty'} ${count}`).join(', ')}`;
    expect(
      [...seen.keys()].filter((text) => !['inside', '', 'file_unavailable'].includes(text)),
      figures,
    ).toEqual([]);
    expect(await readFile(path.join(outside, 'file.txt'), 'utf8')).toBe('OUTSIDE');
    process.stdout.write(`${figures}\n`);
    await rm(root, { recursive: true, force: true });
  },
);
