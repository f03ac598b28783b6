import { execFileSync } from 'node:child_process';
import { existsSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { projectFolder, runPith, type Folder } from './pith-process.ts';
import { skillFile } from './sandbox-files.ts';

/** Says on the error stream which parts of Node a process loaded and which files, at its end. */
const TELL = `process.on('exit', () => require('node:fs').writeSync(2, JSON.stringify({ parts: process.moduleLoadList, files: Object.keys(require.cache) })));`;

interface Loaded {
  readonly parts: readonly string[];
  readonly files: readonly string[];
}

let folder: Folder;
let tell: string;
beforeAll(async () => {
  folder = await projectFolder({ 'skills/gamma/SKILL.md': skillFile('gamma', 'Reads gamma logs.', 'In sievert.') });
  tell = path.join(folder.path, 'tell.cjs');
  writeFileSync(tell, TELL);
});
afterAll(() => folder.remove());

const list = (env: Record<string, string> = {}, ...argv: string[]) => runPith(['skills', 'list', ...argv], { cwd: folder.path, env });

describe('skills list with nothing changed', () => {
  it('performance: is an answer that was kept, for which one small file is loaded and no part of Node that an empty program lacks', async () => {
    await wait(150); // what was written a moment ago is read again
    const { out } = await list();
    await wait(150);
    expect((await list()).out).toBe(out);
    expect(existsSync(path.join(folder.sandbox, 'data/.cache/answers'))).toBe(true);

    const third = await list({ NODE_OPTIONS: `--require ${tell}` });
    expect(third).toMatchObject({ code: 0, out });
    const loaded = JSON.parse(third.err) as Loaded;
    const answer = path.resolve('dist/answer.cjs');
    expect(loaded.files.filter((file) => file !== tell)).toEqual([path.resolve('bin/pith'), answer]);
    expect(statSync(answer).size).toBeLessThan(16_000);
    const empty = path.join(folder.path, 'empty.cjs');
    writeFileSync(empty, `${TELL.replace('2,', '1,')} process.cwd();`);
    const plain = JSON.parse(execFileSync(process.execPath, [empty], { encoding: 'utf8' })) as Loaded;
    expect(loaded.parts.filter((part) => !plain.parts.includes(part))).toEqual([]);
  });
});
