import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Diagnostic } from 'pith';
import { expect, it } from 'vitest';
import { agent, call, skill, skillKernel } from './skill-kernel.ts';

it('S10 a skill that breaks or grows too long is said while the conversation goes on, once, and again when it breaks again', async () => {
  const { pith, chat } = await skillKernel({ ...skill('letters'), ...skill('other') });
  await pith.kernel.start();
  await pith.kernel.problems(); // what there is already
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

it('S3 a folder with a SKILL.md without frontmatter is a skill, with a warning: read from the text below, however long', async () => {
  const world = await skillKernel({
    'skills/letters/SKILL.md': `# Count letters\n\nCounts the letters of a word.\n\n${'More. '.repeat(2000)}\n`,
    'skills/undescribed/SKILL.md': `---\ntags: [a]\n---\n# Sums\n\nAdds up numbers.\n`,
    'skills/empty/SKILL.md': '# Only a heading\n',
  });
  const { requests } = await world.chat('hello', [call('read_skill', { skill_id: 'letters' })]);
  const system = JSON.stringify(requests[0]);
  expect(system).toContain('Counts the letters of a word.');
  expect(system).toContain('Adds up numbers.');
  expect(JSON.stringify(requests.at(-1)?.messages.at(-1))).toContain('# Count letters');
  const listed = await world.print('skills list --all');
  expect(listed).toMatch(/letters +offered/);
  expect(listed).toMatch(/empty +invalid/);
  expect(listed).toContain('has no frontmatter');
});
