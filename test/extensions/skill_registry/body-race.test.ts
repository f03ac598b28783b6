import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { readSkillBody } from '../../../sandbox/extensions/skill_registry/body.ts';
import { skillSandbox, skillText } from './skill-sandbox.ts';

/** Puts a hard link to a file outside in a skill's place, and an honest file over it, as fast as it can until it is killed. */
const SWAPPER = `
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

it('S12 never reads the body of a file outside, while another process puts links to it in the place of a SKILL.md', async () => {
  const honest = skillText({ name: 'own', body: 'inside\n' });
  const box = await skillSandbox({
    'sandbox/skills/own/SKILL.md': honest,
    'outside/SKILL.md': skillText({ name: 'own', body: 'SECRET\n' }),
  });
  await mkdir(`${box.sandbox}/data`, { recursive: true });
  const snapshot = await box.registry().refresh();
  const own = snapshot.skills.get('own')!;
  const child = spawn(process.execPath, ['-e', SWAPPER, own.file, path.join(box.project, 'outside/SKILL.md'), honest], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const seen = new Map<string, number>();
  try {
    await once(child.stdout, 'data');
    for (let round = 0; round < 2000; round++) {
      const text = await readSkillBody(own, { kept: null, broken: null, roots: [`${box.sandbox}/skills`] }).then(
        ({ body }) => body,
        () => 'refused',
      );
      seen.set(text, (seen.get(text) ?? 0) + 1);
    }
  } finally {
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  expect([...seen.keys()].filter((text) => text !== 'inside\n' && text !== 'refused')).toEqual([]);
  expect(seen.get('inside\n')).toBeGreaterThan(0); // the race was on: both kinds of answers came
  expect(seen.get('refused')).toBeGreaterThan(0);
}, 60_000);
