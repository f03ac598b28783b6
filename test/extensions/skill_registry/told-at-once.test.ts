import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Diagnostic } from 'pith';
import { expect, it } from 'vitest';
import { agent, call, skill, skillKernel } from './skill-kernel.ts';

it('S10 a skill that breaks or grows too long is said while the conversation goes on, once, and again when it breaks again', async () => {
  const { pith, chat } = await skillKernel({ ...skill('letters'), ...skill('other') });
  await pith.kernel.start();
  await pith.kernel.problems(); // what there is already
  await pith.command('skills search anything'); // all bodies have been read
  const found: Diagnostic[] = [];
  pith.kernel.events.handle('problem.found', (problem) => void found.push(problem));
  const file = path.join(pith.sandbox, 'skills/letters/SKILL.md');
  const write = async (text: string, id = 'letters') => {
    await writeFile(file.replace('letters', id), text);
    await pith.command('skills search anything');
  };
  const good = '---\nname: letters\ndescription: Writes letters.\n---\nBody\n';
  await write(good.replace('.\n---', '.\n'));
  await expect.poll(() => found.map(({ message }) => message)).toEqual([expect.stringContaining("skill 'letters'")]);
  expect(found[0]).toMatchObject({ severity: 'error', file, message: expect.stringContaining('an earlier version stays in use') });
  const { requests, results } = await chat('hello', [call('read_skill', { skill_id: 'letters' })]);
  expect(requests[0]?.system).toContain('`letters`');
  expect(results[0]?.output).toMatch(/note: the file is broken now; this is the last good version[^]*BODY-OF-letters/);
  await write(good);
  await write(good.replace('Body', 'word '.repeat(9000)));
  await expect.poll(() => found.length).toBe(2);
  expect(found[1]).toMatchObject({ severity: 'warning', message: expect.stringContaining("skill 'letters' has a body of about") });
  await rm(path.dirname(file), { recursive: true });
});

it('S41 a skill that is long beyond a part, and in the instructions of an agent, is given whole and warned of', async () => {
  const body = `${'Some words of it. '.repeat(5000)}THE-END`;
  const { pith, turn } = await skillKernel({ ...skill('long', { body }), ...agent('bound', 'uses_skills: [long]') });
  const { requests } = await turn('bound', 'hello');
  expect(requests[0]!.system).toContain('THE-END');
  expect(await pith.kernel.problems()).toContainEqual(
    expect.objectContaining({
      severity: 'warning',
      code: 'bound_skill_large',
      message: expect.stringMatching(/^agent 'bound': its instructions contain the whole of skill 'long', about \d+ tokens/),
    }),
  );
});
