import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openDatabase } from '../../../core/store/index.ts';
import type { ScriptedStep } from 'pith/testing';
import { systemClock } from '@pith/promises';
import { putFiles } from '../../journeys/pith-process.ts';
import {
  agent,
  call,
  crowd,
  settings,
  skill,
  skillKernel,
  SKILLS as SKILL_EXTENSIONS,
  type SkillKernel,
  without,
} from '../skill_registry/skill-kernel.ts';

const read = (id: string) => call('read_skill', { skill_id: id });
const failing = [call('read_skill', { skill_id: 'nobody' }), call('read_skill', { skill_id: 'nobody' })];

async function suggestions(world: SkillKernel, kind: string): Promise<readonly Record<string, unknown>[]> {
  const { suggestions: all } = (await world.command('skills suggest')) as unknown as { suggestions: readonly Record<string, unknown>[] };
  return all.filter((one) => one['kind'] === kind);
}

describe('P11 skills suggest', () => {
  it('P11 lists a skill that was suggested as the best match again and again and seldom loaded, and none that is loaded when it is suggested', async () => {
    const many = crowd(
      60,
      (at) => `skill-${at}`,
      (at) => `Number${at} ${'one more word '.repeat(9)}.`,
    );
    const soups = {
      ...skill('onions', { description: 'Cooks a soup of onions.' }),
      ...skill('leeks', { description: 'Bakes a cake of leeks.' }),
    };
    const world = await skillKernel({ ...many, ...soups }, { contextWindow: 20_000 });
    for (let at = 0; at < 6; at++) {
      await world.chat('cook a soup of onions', [], `onion-${at}`);
      await world.chat('bake a cake of leeks', [read('leeks')], `leek-${at}`);
    }
    expect(await suggestions(world, 'passed_over')).toEqual([
      expect.objectContaining({ about: 'onions', why: 'best match in 6 conversations, loaded in none' }),
    ]);
    expect(await world.print('skills suggest')).toMatch(/Best match of the message, seldom loaded:\n.*\nonions/);
  });

  it('P11 lists a skill whose turns often end without success, and none that goes well', async () => {
    const world = await skillKernel({ ...skill('good'), ...skill('bad') });
    for (let at = 0; at < 6; at++) {
      await world.chat('go', [read('good')], `good-${at}`);
      await world.chat('go', [read('bad'), ...(at < 3 ? failing : [])], `bad-${at}`);
    }
    expect(await suggestions(world, 'unsuccessful')).toEqual([
      expect.objectContaining({ about: 'bad', why: 'loaded in 6 turns: 3 with tool calls or scripts that failed' }),
    ]);
  });

  it('P11 lists what was looked for and not found, by the words of the search without keys, the most frequent first', async () => {
    const world = await skillKernel({ ...skill('alpha') });
    const look = (query: string) => call('list_skills', { query });
    await world.chat('go', [look('Translate a  contract')]);
    await world.chat('go', [look('translate a contract')], 'other');
    await world.chat('go', [look('use sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD now')]);
    await world.chat('go', [look('alpha')]);
    const found = await suggestions(world, 'missing');
    expect(found.map(({ about }) => about)).toEqual(['translate a contract', expect.stringContaining('[')]);
    expect(found[0]).toMatchObject({ why: expect.stringMatching(/^2 times, last .* in conversation other$/) as string });
    expect(JSON.stringify(found)).not.toContain('abcdefghijklmnop');
  });

  it('P11 needs five uses before it says anything, and says nothing without any', async () => {
    const world = await skillKernel({ ...skill('bad') });
    expect(await world.print('skills suggest')).toBe('Nothing to suggest from the last 30 days.');
    for (let at = 0; at < 4; at++) await world.chat('go', [read('bad'), ...failing], `bad-${at}`);
    expect(await suggestions(world, 'unsuccessful')).toEqual([]);
    await expect(world.print('skills suggest --days 0')).rejects.toThrow('--days must be a number above 0');
  });

  it('P11 S90 the tables of an earlier version go on, with their rows', async () => {
    const world = await skillKernel({ ...skill('alpha') });
    await world.chat('go', [read('alpha')]);
    await expect.poll(async () => (await world.command('skills stats'))['turns']).toBe(1);
    const database = openDatabase(join(world.pith.sandbox, 'data/pith.db'));
    for (const column of ['ended', 'calls', 'failed']) database.exec(`ALTER TABLE skill_stats__turns DROP COLUMN ${column}`);
    database.exec('DROP TABLE skill_stats__searches; UPDATE skill_stats__ledger SET version = 1');
    database.close();
    await world.pith.restart();
    expect(await world.print('skills suggest')).toContain('Nothing to suggest');
    await world.chat('go', [call('list_skills', { query: 'something else entirely' })]);
    expect(await world.command('skills stats')).toMatchObject({ turns: 2 });
    expect(await suggestions(world, 'missing')).toHaveLength(1);
  });

  it('P11 without skill_stats everything else goes on', async () => {
    const world = await skillKernel({ ...skill('alpha'), ...without('skill_stats') });
    await world.chat('go', [call('list_skills', { query: 'nothing like it' })]);
    await expect(world.print('skills suggest')).rejects.toThrow("no extension offers the command 'skills suggest'");
  });

  it('P11 records no search where stats_days is 0', async () => {
    const world = await skillKernel({ ...skill('alpha'), ...settings('stats_days: 0') });
    await world.chat('go', [call('list_skills', { query: 'nothing like it' })]);
    expect(await suggestions(world, 'missing')).toEqual([]);
  });

  it('P23 offers to go back from a change after which a skill succeeds more seldom, over at least 20 turns each', async () => {
    const world = await skillKernel({ ...skill('deploy') });
    const turns = async (count: number, steps: readonly ScriptedStep[], name: string) => {
      for (let at = 0; at < count; at++) await world.chat('go', [read('deploy'), ...steps], `${name}-${at}`);
    };
    await turns(20, [], 'before');
    await world.print('skills history deploy');
    await putFiles(world.pith.sandbox, skill('deploy', { body: 'ANOTHER-BODY\n' }));
    await world.print('skills history deploy');
    await turns(19, failing, 'after');
    expect(await suggestions(world, 'worse')).toEqual([]);
    await turns(1, failing, 'last');
    expect(await suggestions(world, 'worse')).toEqual([
      {
        kind: 'worse',
        about: 'deploy',
        why: expect.stringMatching(/^with success in 0 % of 20 turns since .*, in 100 % of 20 turns before$/) as string,
        next: 'go back: pith skills rollback deploy 1',
      },
    ]);
    expect(await world.print('skills rollback deploy 1 --yes')).toContain('deploy');
    const { requests } = await world.chat('go', [read('deploy')], 'back');
    expect(JSON.stringify(requests.at(-1)?.messages.at(-1))).toContain('BODY-OF-deploy');
  });

  it('P23 says nothing of a change after which a skill does as well as before', async () => {
    const world = await skillKernel({ ...skill('deploy') });
    for (let at = 0; at < 20; at++) await world.chat('go', [read('deploy'), ...(at < 4 ? failing : [])], `before-${at}`);
    await world.print('skills history deploy');
    await putFiles(world.pith.sandbox, skill('deploy', { body: 'ANOTHER-BODY\n' }));
    await world.print('skills history deploy');
    for (let at = 0; at < 20; at++) await world.chat('go', [read('deploy'), ...(at < 5 ? failing : [])], `after-${at}`);
    expect(await suggestions(world, 'worse')).toEqual([]);
  });

  it('P23 offers what an agent made and nobody used for 60 days for removal, and never what a person made', async () => {
    let ahead = 0;
    const clock = { ...systemClock, now: () => Date.now() + ahead };
    const files = { ...skill('mine'), ...agent('reader', 'uses_tools: [skill_registry, core_tools]') };
    const world = await skillKernel(files, { clock, only: [...SKILL_EXTENSIONS, 'core_tools'] });
    await world.chat('go', [read('mine')]);
    for (const id of ['made', 'busy', 'taken']) {
      const content = `---\nname: ${id}\ndescription: Knows how ${id} things are done with ${id}.\n---\n\nDo ${id} things.\n`;
      await world.chat('go', [call('file', { action: 'write', path: `skills/${id}/SKILL.md`, content })]);
      const { digest } = await world.command(`skills accept ${id}`);
      await world.print(`skills accept ${id} --digest ${String(digest)}`);
    }
    await putFiles(world.pith.sandbox, { 'skills/taken/SKILL.md': '---\nname: taken\ndescription: Mine now.\n---\n\nMine.\n' });
    await world.print('skills history taken');
    ahead = 61 * 86_400_000;
    await world.chat('go', [read('busy')]);
    expect(await suggestions(world, 'unused')).toEqual([
      { kind: 'unused', about: 'made', why: 'not used since it was made', next: 'remove it, its history stays: pith skills remove made' },
    ]);
    ahead = 0;
    expect(await suggestions(world, 'unused')).toEqual([]);
  });

  it('P23 beyond fifty skills that agents made offers those that were used longest ago', async () => {
    const ids = Array.from({ length: 51 }, (_, at) => `made-${at}`);
    const world = await skillKernel(Object.assign({}, ...ids.map((id) => skill(id))));
    await world.chat('go'); // then there is a ledger
    for (const id of ids) await world.print(`skills history ${id}`);
    const folder = join(world.pith.sandbox, 'data/extensions/skill_registry/history');
    for (const name of readdirSync(folder).filter((each) => each.endsWith('.json'))) {
      const history = JSON.parse(readFileSync(join(folder, name), 'utf8'));
      const at = Date.now() - 1000 * (1 + Number(history.id.slice('made-'.length)));
      writeFileSync(
        join(folder, name),
        JSON.stringify({ ...history, versions: [{ ...history.versions[0], at, how: 'accepted', by: 'reader' }] }),
      );
    }
    const why = 'not used since it was made; agents made 51 skills';
    expect(await suggestions(world, 'unused')).toMatchObject([{ about: 'made-50', why }]);
    await world.chat('go', [read('made-50')]);
    expect(await suggestions(world, 'unused')).toMatchObject([{ about: 'made-49', why }]);
  });
});
