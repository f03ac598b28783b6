import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openDatabase } from '../../../../core/store/index.ts';
import { call, skillKernel, skill, type SkillKernel } from '../skill-kernel.ts';

let world: SkillKernel;

const words = (count: number) => 'one more word '.repeat(count);
const guide = (id: string) => ({ [`skills/${id}/references/guide.md`]: 'GUIDE' });
const read = (id: string) => call('read_skill', { skill_id: id });
const recent = async (id: string) => (await world.command(`skills stats ${id}`))['recent'] as readonly Record<string, unknown>[];

/** Rows of `pith.db`, once they are there: nobody waits for the ledger. */
function rows(sql: string): readonly Record<string, unknown>[] {
  const database = openDatabase(join(world.pith.sandbox, 'data/pith.db'));
  try {
    return database.all(sql);
  } finally {
    database.close();
  }
}

async function written(sql: string, count: number): Promise<readonly Record<string, unknown>[]> {
  return expect
    .poll(() => rows(sql), { timeout: 3000 })
    .toHaveLength(count)
    .then(() => rows(sql));
}

describe('the ledger of skills', () => {
  it('S90 says for a turn and a skill in which one state it was: filtered and why, offered, loaded and how, resource read', async () => {
    world = await skillKernel({
      ...skill('alpha'),
      ...guide('alpha'),
      ...skill('beta'),
      ...skill('gamma'),
      ...skill('off'),
      'pith.yaml': 'default_agent: reader\nskills: { sources: { replace: [sandbox/skills] }, poll_seconds: 0, disabled: ["off"] }\n',
      'agents/reader/manifest.yaml':
        'id: reader\nagent: { uses_tools: [skill_registry], uses_skills: [beta], skills: { deny: [gamma] } }\n',
    });
    await world.chat('go', [read('alpha')]);
    await world.chat('on', [read('alpha'), call('read_skill_resource', { skill_id: 'alpha', path: 'guide.md' })]);
    await world.chat('nothing');
    await written('SELECT * FROM skill_registry__turns', 3);
    const state = async (id: string) =>
      (await recent(id)).map((turn) => [turn['state'], turn['how'] ?? turn['why'] ?? turn['path'] ?? null]);
    expect(await state('alpha')).toEqual([
      ['offered', null],
      ['resource_read', 'references/guide.md'],
      ['loaded', 'read_skill'],
    ]);
    expect(await state('beta')).toEqual([1, 2, 3].map(() => ['loaded', 'uses_skills']));
    expect(await state('gamma')).toEqual([1, 2, 3].map(() => ['filtered', "the agent's skills.deny names it"]));
    expect((await state('off'))[0]).toEqual(['filtered', expect.stringContaining('disabled')]);
  });

  it('S90 publishes what a turn does with a skill, with the names that find it again', async () => {
    world = await skillKernel({ ...skill('alpha'), ...guide('alpha') });
    const { events } = await world.chat('go', [read('alpha'), call('read_skill_resource', { skill_id: 'alpha', path: 'guide.md' })]);
    const turnId = events[0]?.type === 'turn-start' ? events[0].turn : '';
    const where = { turnId, threadId: 'test', agentId: 'reader', skillId: 'alpha', correlationId: expect.any(String) };
    expect(world.used).toEqual([
      { ...where, state: 'loaded', how: 'read_skill', sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
      { ...where, state: 'resource_read', path: 'references/guide.md' },
    ]);
  });

  it('S90 counts no preview, which loads nothing and is no turn', async () => {
    world = await skillKernel({
      ...skill('alpha'),
      'agents/reader/manifest.yaml': 'id: reader\nagent: { uses_tools: [skill_registry], uses_skills: [alpha] }\n',
    });
    await world.pith.kernel.agents.preview({ agent: 'reader', input: 'go' });
    await world.chat('go');
    await written('SELECT * FROM skill_registry__turns', 1);
    expect(rows('SELECT how FROM skill_registry__uses')).toEqual([{ how: 'uses_skills' }]);
    expect(world.used).toHaveLength(1);
  });

  it('S90 S43 knows after a restart what a thread holds, and how many turns ago it was read', async () => {
    world = await skillKernel(skill('alpha'));
    await world.chat('go', [read('alpha')]);
    await world.pith.restart();
    world.listen();
    const { requests } = await world.chat('again', [read('alpha')]);
    expect(JSON.stringify(requests.at(-1)?.messages.at(-1))).toContain('already loaded above');
    const other = await world.chat('elsewhere', [read('alpha')], 'other');
    expect(JSON.stringify(other.requests.at(-1)?.messages.at(-1))).toContain('BODY-OF-alpha');
  });

  it('S90 S46 tells which bodies a compaction dropped and which it kept', async () => {
    world = await skillKernel({ ...skill('large', { body: words(1500) }), ...skill('small') });
    await world.chat('go', [read('large'), read('small')]);
    await world.chat(words(1000));
    world.used.length = 0;
    world.model.add({ text: 'A summary.' });
    await world.pith.kernel.agents.compact('test');
    expect(world.used).toEqual([
      {
        turnId: null,
        threadId: 'test',
        agentId: 'reader',
        skillId: 'large',
        state: 'dropped',
        sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
        correlationId: null,
      },
    ]);
    await written(`SELECT * FROM skill_registry__uses WHERE state = 'dropped'`, 1);
    expect(await world.command('skills stats large')).toMatchObject({ dropped: 1 });
    expect(await world.command('skills stats small')).toMatchObject({ dropped: 0 });
    expect(rows(`SELECT outlived FROM skill_registry__uses WHERE skill = 'small'`)).toEqual([{ outlived: 1 }]);
  });

  it('S90 offered, over budget and beside one message are told apart when not all fit', async () => {
    const many = Object.assign(
      {},
      ...Array.from({ length: 60 }, (_, at) => skill(`skill-${at}`, { description: `Number${at} ${words(9)}.` })),
    );
    world = await skillKernel({ ...many, ...skill('soup', { description: 'Cooks soup of onions and leeks.' }) }, { contextWindow: 20_000 });
    await world.chat('what is the weather');
    await world.chat('cook a soup of onions');
    await written('SELECT * FROM skill_registry__turns', 2);
    expect((await recent('soup')).map(({ state }) => state)).toEqual(['offered', 'over_budget']);
    expect(await world.command('skills stats soup')).toMatchObject({ offered: 1, overBudget: 1, notOffered: { 'over budget': 1 } });
  });

  it('S90 writes few rows a turn: one and one for each use, whatever the number of skills', async () => {
    const many = Object.assign({}, ...Array.from({ length: 300 }, (_, at) => skill(`skill-${at}`)));
    world = await skillKernel(many);
    for (let at = 0; at < 5; at++) await world.chat(`turn ${at}`, at === 2 ? [read('skill-7')] : []);
    await written('SELECT * FROM skill_registry__turns', 5);
    expect(rows('SELECT count(*) AS n FROM skill_registry__exposures')).toEqual([{ n: 1 }]);
    expect(rows('SELECT count(*) AS n FROM skill_registry__uses')).toEqual([{ n: 1 }]);
    expect((await world.command('skills stats')) as object).toMatchObject({ turns: 5, skills: { length: 300 } });
  });

  it('S90 writes nothing with stats_days 0, and leaves the tables of a later version alone', async () => {
    const off = 'default_agent: reader\nskills: { sources: { replace: [sandbox/skills] }, poll_seconds: 0, stats_days: 0 }\n';
    world = await skillKernel({ ...skill('alpha'), 'pith.yaml': off });
    await world.chat('go', [read('alpha')]);
    await world.pith.stop();
    world = await skillKernel(skill('alpha'));
    await world.pith.kernel.host.providers.commands.of('skill_registry');
    const later = openDatabase(join(world.pith.sandbox, 'data/pith.db'));
    later.exec('CREATE TABLE skill_registry__ledger (version INTEGER, pruned INTEGER); INSERT INTO skill_registry__ledger VALUES (99, 0)');
    later.close();
    const { requests } = await world.chat('go', [read('alpha')]);
    expect(JSON.stringify(requests.at(-1)?.messages.at(-1))).toContain('BODY-OF-alpha');
    await world.chat('again');
    expect(rows(`SELECT name FROM sqlite_master WHERE name LIKE 'skill_registry__%' AND type = 'table'`)).toEqual([
      { name: 'skill_registry__ledger' },
    ]);
  });
});
