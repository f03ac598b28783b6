import { existsSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { hasWordVectors, wordVectors } from '../../../sandbox/extensions/skill_search/vectors.ts';
import { folderWith } from '../../places.ts';
import { call, crowd, lastResult, skill, skillKernel } from '../skill_registry/skill-kernel.ts';
import { logTo } from '../skill_registry/skill-sandbox.ts';

/** So many that the catalog has no line for each. */
const idOf = (at: number) => `report-${String(at).padStart(3, '0')}`;
const many = crowd(150, idOf, (at) => `Writes the yearly report of branch ${at} for its owners.`);
const FEW = {
  ...skill('health-helper', { description: 'Sees to wounds, fever and pills.' }),
  ...skill('kitchen-helper', { description: 'Cooks soup and dinner from what is in the fridge.' }),
};
const BESIDE = '[Skills for this message]';

it.each([{ wire: false }, { wire: true }])('R4 list_skills finds what shares no word, and says so (wire: $wire)', async ({ wire }) => {
  const { resultOf, pith } = await skillKernel(FEW, { wire });
  const found = await resultOf('list_skills', { query: 'my son is ill and needs medicine' });
  expect(found).toMatch(/^• `health-helper` — .* \[weak match; matches: similar meaning\]$/m);
  expect(found).not.toContain('kitchen-helper');
  expect((await pith.command('skills search something tasty to eat for the evening meal')).text).toMatch(
    /^kitchen-helper +[\d.]+ +\(weak\) similar meaning/m,
  );
});

it('R6 in one conversation no skill is suggested beside small talk, beside a request those that fit are, and after it none again', async () => {
  const { chat, pith } = await skillKernel({ ...many, ...FEW }, { contextWindow: 8000 });
  await expect.poll(async () => (await pith.command('skills search soup')).text).not.toContain('indexed');
  const beside = async (text: string) =>
    JSON.stringify((await chat(text)).requests[0]!.messages.filter(({ role }) => role === 'user').at(-1));
  for (const text of ['hi', 'thanks, that was great', 'what time is it in Tokyo', 'good morning', 'how are you today'])
    expect(await beside(text), text).not.toContain(BESIDE);
  const cooked = await beside('please cook a soup for dinner');
  expect(cooked).toContain(BESIDE);
  expect(cooked).toContain('`kitchen-helper`');
  expect(await beside('lovely, thank you')).not.toContain(BESIDE);
});

it('R2 list_skills fills its answer up with weak matches, marked so, and puts those that fit before them', async () => {
  const { chat } = await skillKernel({ ...many, ...FEW }, { contextWindow: 8000 });
  const listed = lastResult(await chat('go on', [call('list_skills', { query: 'cook a report', limit: 8 })]));
  const lines = listed.split('\n').filter((line) => line.startsWith('• '));
  expect(lines).toHaveLength(8);
  expect(lines[0]).toMatch(/^• `kitchen-helper` — .* \[matches: cook\]$/);
  for (const line of lines.slice(1)) expect(line).toMatch(/^• `report-\d+` — .* \[weak match; matches: report\]$/);
});

it('R4 where the table cannot be read words decide, and one line says why', async () => {
  for (const directory of [folderWith(), folderWith({ 'vectors/english.bin': 'damaged' })]) {
    const said: string[] = [];
    expect(await hasWordVectors({ directory })).toBe(existsSync(path.join(directory, 'vectors')));
    const vectors = wordVectors({ directory, logger: logTo(said) });
    expect([await vectors(), await vectors()]).toEqual([null, null]);
    expect(said).toHaveLength(1);
    expect(said[0]).toMatch(/^warn skills are found by their words alone: vectors\/english\.bin of this extension cannot be read: /);
  }
});
