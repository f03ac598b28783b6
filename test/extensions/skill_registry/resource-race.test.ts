import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { linkSync, renameSync, unlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readSkillBody } from '../../../sandbox/extensions/skill_registry/bodies.ts';
import { listResources, readResource } from '@pith/skill-files';
import type { Reach } from '@pith/safe-files';
import { skillSandbox, skillText } from './skill-sandbox.ts';
import { folderWith } from '../../places.ts';

/** Swaps honest and hostile things for one another as fast as it can, until it is killed. */
const SWAPPER = `
  const fs = require('node:fs'), path = require('node:path');
  const [root] = process.argv.slice(1);
  const skill = path.join(root, 'skills/alpha'), out = path.join(root, 'outside');
  const attempt = (run) => { try { run(); } catch {} };
  const swaps = [
    () => { fs.rmSync(skill + '/file.txt', { force: true }); fs.writeFileSync(skill + '/file.txt', 'inside'); },
    () => { fs.rmSync(skill + '/file.txt', { force: true }); fs.symlinkSync(out + '/file.txt', skill + '/file.txt'); },
    () => { fs.rmSync(skill + '/file.txt', { force: true }); fs.linkSync(out + '/file.txt', skill + '/file.txt'); },
    () => { fs.rmSync(skill + '/file.txt', { force: true }); },
    () => { fs.renameSync(skill + '/references', skill + '/parked'); fs.symlinkSync(out, skill + '/references'); },
    () => { fs.rmSync(skill + '/references', { force: true }); fs.renameSync(skill + '/parked', skill + '/references'); },
    () => { fs.renameSync(skill, skill + '-parked'); fs.symlinkSync(out, skill); },
    () => { fs.unlinkSync(skill); fs.renameSync(skill + '-parked', skill); },
  ];
  process.stdout.write('ready');
  for (;;) for (const swap of [swaps[0], swaps[1], swaps[0], swaps[2], swaps[3], swaps[0], swaps[4], swaps[5], swaps[6], swaps[7]]) attempt(swap);
`;

/** Runs a script that swaps until the test has ended. */
async function swapping(script: string, ...args: readonly string[]): Promise<void> {
  const child = spawn(process.execPath, ['-e', script, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  await once(child.stdout, 'data');
}

async function racing(): Promise<string> {
  const root = folderWith({
    'skills/alpha/file.txt': 'inside',
    'skills/alpha/references/file.txt': 'inside',
    'outside/file.txt': 'SECRET',
    'outside/references/file.txt': 'SECRET',
    'outside/only.txt': 'SECRET',
  });
  await swapping(SWAPPER, root);
  return path.join(root, 'skills/alpha');
}

/** In the long form ten times as many. */
const ROUNDS = process.env['PITH_TEST_LONG'] === '1' ? 1000 : 100;
const WAYS: readonly Reach[] = ['descriptor', 'working_folder'];

describe.each(WAYS)('what happens to a file between its check and its reading, reached by its %s', (reach) => {
  /** A skill with one file, and what is done to it after it was opened and checked, right before its text is read. */
  async function readWhile(change: (file: string, outside: string) => void) {
    const [skill, outside] = [folderWith({ 'file.txt': 'inside' }), folderWith()];
    let asked = 0;
    const throwIfAborted = () => void (asked++ === 0 && change(path.join(skill, 'file.txt'), path.join(outside, 'file.txt')));
    const answer = await readResource(skill, 'file.txt', { signal: { throwIfAborted } as AbortSignal, reach });
    expect(asked).toBeGreaterThan(0);
    return answer;
  }

  it.each([
    ['removed', unlinkSync],
    ['moved outside', renameSync],
    ['linked from outside', linkSync],
  ])('S44 refuses a file that was %s meanwhile', async (_, change) => {
    expect(await readWhile(change)).toEqual({ kind: 'refused' });
  });

  it('S44 reads the file that took the place of another meanwhile', async () => {
    const replace = (file: string) => [unlinkSync(file), writeFileSync(file, 'other')];
    expect(await readWhile(replace)).toMatchObject({ kind: 'text', text: 'other' });
  });

  it('S44 reads one that nobody touched', async () => {
    expect(await readWhile(() => {})).toMatchObject({ kind: 'text', text: 'inside' });
  });
});

describe.each(WAYS)('while another process swaps files, links and folders, reached by its %s', (reach) => {
  it('S44 never reads a byte from outside, and never hangs', async () => {
    const skill = await racing();
    const seen = new Map<string, number>();
    // The race must be on: both kinds of answers come. In the working folder a file that is never left alone is refused.
    const isOn = () => seen.has('refused') && (reach === 'working_folder' || seen.has('inside'));
    for (let round = 0; round < ROUNDS || !isOn(); round++) {
      const answers = await Promise.all(
        ['file.txt', 'references/file.txt', 'only.txt', 'references/only.txt'].map((file) => readResource(skill, file, { reach })),
      );
      for (const answer of answers) {
        const text = answer.kind === 'text' ? answer.text : answer.kind;
        seen.set(text, (seen.get(text) ?? 0) + 1);
      }
    }
    expect([...seen.keys()].filter((text) => !['inside', 'refused', ''].includes(text))).toEqual([]);
  });

  it('S41 S44 never lists a file from outside', async () => {
    const skill = await racing();
    for (let round = 0; round < ROUNDS; round++) {
      const { entries } = await listResources(skill, reach);
      expect(entries.filter(({ path: file }) => file.endsWith('only.txt'))).toEqual([]);
    }
  });
});

/** Puts a hard link to a file outside in a skill's place, and an honest file over it, as fast as it can until it is killed. */
const LINKER = `
  const fs = require('node:fs');
  const [file, outside, honest] = process.argv.slice(1);
  process.stdout.write('ready');
  for (let round = 1; ; round++) {
    fs.linkSync(outside, file + '.link');
    fs.renameSync(file + '.link', file);
    fs.writeFileSync(file + '.new', honest);
    fs.renameSync(file + '.new', file);
    if (round % 50 === 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10); // time in which to read the honest one
  }
`;

it.each(WAYS)(
  'S12 reached by its %s: never reads the body of a file outside, while another process puts links to it in the place of a SKILL.md',
  async (reach) => {
    const honest = skillText({ name: 'own', body: 'inside\n' });
    const box = await skillSandbox({
      'sandbox/skills/own/SKILL.md': honest,
      'outside/SKILL.md': skillText({ name: 'own', body: 'SECRET\n' }),
    });
    const snapshot = await box.registry().refresh();
    const own = snapshot.skills.get('own')!;
    await swapping(LINKER, own.file, path.join(box.project, 'outside/SKILL.md'), honest);
    const seen = new Map<string, number>();
    const isOn = () => seen.has('inside\n') && seen.has('refused'); // both kinds of answers come
    for (let round = 0; round < 4 * ROUNDS || !isOn(); round++) {
      const text = await readSkillBody(own, { kept: null, broken: null, roots: [`${box.sandbox}/skills`], reach }).then(
        ({ body }) => body,
        () => 'refused',
      );
      seen.set(text, (seen.get(text) ?? 0) + 1);
    }
    expect([...seen.keys()].filter((text) => text !== 'inside\n' && text !== 'refused')).toEqual([]);
  },
);
