import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openDatabase } from '../../../core/store/index.ts';
import { agent, call, crowd, settings, skill, skillKernel, type SkillKernel, without } from '../skill_registry/skill-kernel.ts';

let world: SkillKernel;

const words = (count: number) => 'one more word '.repeat(count);
const guide = (id: string) => ({ [`skills/${id}/references/guide.md`]: 'GUIDE' });
const numbered = (at: number) => `skill-${at}`;
const read = (id: string) => call('read_skill', { skill_id: id });
const stats = (id: string) => world.command(`skills stats ${id}`);

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
  await expect.poll(() => rows(sql)).toHaveLength(count);
  return rows(sql);
}

describe('the ledger of skills', () => {
  it('S90 has one row for each skill that was loaded, read or bound, with how, digest and path, and one for each turn', async () => {
    world = await skillKernel({
      ...skill('alpha'),
      ...guide('alpha'),
      ...skill('beta'),
      ...skill('gamma'),
      ...agent('reader', 'uses_tools: [skill_registry]', 'uses_skills: [beta]', 'skills: { deny: [gamma] }'),
    });
    await world.chat('go', [read('alpha')]);
    await world.chat('on', [read('alpha'), call('read_skill_resource', { skill_id: 'alpha', path: 'guide.md' })]);
    await world.chat('nothing');
    expect(await written('SELECT thread, agent, readable, offered, shown FROM skill_stats__turns', 3)).toEqual(
      [1, 2, 3].map(() => ({ thread: 'test', agent: 'reader', readable: 1, offered: 1, shown: 0 })),
    );
    const found = await stats('alpha');
    expect(found).toMatchObject({ turns: 3, loaded: { read_skill: 2 }, resources: 1 });
    expect(found['uses']).toMatchObject([
      { state: 'resource_read', path: 'references/guide.md' },
      { state: 'loaded', how: 'read_skill', sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
      { state: 'loaded', how: 'read_skill' },
    ]);
    expect(await stats('beta')).toMatchObject({ loaded: { uses_skills: 3 } });
    expect(found['days']).toEqual([
      { day: expect.stringMatching(/^\d{4}-\d\d-\d\d$/u), suggested: 0, loaded: 2, resources: 1, scripts: 0 },
    ]);
    expect(await stats('gamma')).toMatchObject({ turns: 3, loaded: {}, days: [], uses: [] });
    await expect(stats('delta')).rejects.toThrow("nothing is recorded of a skill 'delta'");
  });

  it('S90 publishes what a turn does with a skill, with the names that find it again', async () => {
    world = await skillKernel({ ...skill('alpha'), ...guide('alpha') });
    const { events } = await world.chat('go', [read('alpha'), call('read_skill_resource', { skill_id: 'alpha', path: 'guide.md' })]);
    const turnId = events[0]?.type === 'turn-start' ? events[0].turn : '';
    const where = {
      source: expect.stringMatching(/^file:.*alpha$/u),
      turnId,
      threadId: 'test',
      agentId: 'reader',
      skillId: 'alpha',
      correlationId: expect.any(String),
    };
    expect(world.used).toEqual([
      { ...where, state: 'loaded', how: 'read_skill', sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
      { ...where, state: 'resource_read', path: 'references/guide.md' },
    ]);
  });

  it('S90 counts no preview, which loads nothing and is no turn', async () => {
    world = await skillKernel({ ...skill('alpha'), ...agent('reader', 'uses_tools: [skill_registry]', 'uses_skills: [alpha]') });
    await world.pith.kernel.agents.preview({ agent: 'reader', input: 'go' });
    await world.chat('go');
    await written('SELECT * FROM skill_stats__turns', 1);
    expect(rows('SELECT how FROM skill_stats__uses')).toEqual([{ how: 'uses_skills' }]);
    expect(world.used).toHaveLength(1);
  });

  it('S43 a conversation holds its skills after a restart too', async () => {
    world = await skillKernel(skill('alpha'));
    await world.chat('go', [read('alpha')]);
    await world.pith.restart();
    const { requests } = await world.chat('again', [read('alpha')]);
    expect(JSON.stringify(requests.at(-1)?.messages.at(-1))).toContain('already loaded above');
    const other = await world.chat('elsewhere', [read('alpha')], 'other');
    expect(JSON.stringify(other.requests.at(-1)?.messages.at(-1))).toContain('BODY-OF-alpha');
  });

  it('S90 S46 tells which bodies a compaction dropped', async () => {
    world = await skillKernel({ ...skill('large', { body: words(1500) }), ...skill('small') });
    await world.chat('go', [read('large'), read('small')]);
    await world.chat(words(1000));
    world.used.length = 0;
    world.model.add({ text: 'A summary.' });
    await world.pith.kernel.agents.compact('test');
    await written(`SELECT * FROM skill_stats__uses WHERE state = 'dropped'`, 1);
    const sha256: unknown = expect.stringMatching(/^[0-9a-f]{64}$/);
    const where = { turnId: null, threadId: 'test', agentId: 'reader', correlationId: null };
    expect(world.used).toEqual([{ ...where, skillId: 'large', state: 'dropped', sha256 }]);
    expect(await stats('large')).toMatchObject({ dropped: 1 });
    expect(await stats('small')).toMatchObject({ dropped: 0 });
  });

  it('S90 a skill that stood beside one message was suggested; turns that could not show all are counted', async () => {
    const many = crowd(60, numbered, (at) => `Number${at} ${words(9)}.`);
    world = await skillKernel({ ...many, ...skill('soup', { description: 'Cooks soup of onions and leeks.' }) }, { contextWindow: 20_000 });
    await world.chat('what is the weather');
    await world.chat('cook a soup of onions');
    await written('SELECT * FROM skill_stats__turns', 2);
    expect(await stats('soup')).toMatchObject({ turns: 2, complete: 0, suggested: 1, loaded: {} });
    expect(await world.print('skills stats soup')).toContain('2 turns (in 2 not all skills had a line)');
  });

  it('S90 writes few rows a turn: one and one for each use, whatever the number of skills', async () => {
    world = await skillKernel(crowd(100, numbered), { contextWindow: 10_000_000 });
    for (let at = 0; at < 5; at++) await world.chat(`turn ${at}`, at === 2 ? [read('skill-7')] : []);
    await written('SELECT * FROM skill_stats__turns', 5);
    expect(rows(`SELECT count(*) AS n FROM skill_stats__uses WHERE state <> 'suggested'`)).toEqual([{ n: 1 }]);
    expect((await world.command('skills stats')) as object).toMatchObject({ turns: 5, skills: { length: 100 } });
  });

  it('S90 writes nothing with stats_days 0, and leaves the tables of a later version alone', async () => {
    world = await skillKernel({ ...skill('alpha'), ...settings('stats_days: 0') });
    await world.chat('go', [read('alpha')]);
    expect(await world.print('skills stats')).toContain('Nothing is recorded');
    await world.pith.stop();
    world = await skillKernel(skill('alpha'));
    await world.pith.kernel.host.providers.commands.of('skill_stats');
    const later = openDatabase(join(world.pith.sandbox, 'data/pith.db'));
    later.exec('CREATE TABLE skill_stats__ledger (version INTEGER, pruned INTEGER); INSERT INTO skill_stats__ledger VALUES (99, 0)');
    later.close();
    const { requests } = await world.chat('go', [read('alpha')]);
    expect(JSON.stringify(requests.at(-1)?.messages.at(-1))).toContain('BODY-OF-alpha');
    await world.chat('again');
    expect(rows(`SELECT name FROM sqlite_master WHERE name LIKE 'skill_stats__%' AND type = 'table'`)).toEqual([
      { name: 'skill_stats__ledger' },
    ]);
  });

  it('S90 S71 what run_skill runs is loaded once, in the turn of its caller', async () => {
    world = await skillKernel({
      ...skill('linked', { body: 'See [the guide](references/guide.md).\n' }),
      'skills/linked/references/guide.md': 'GUIDE',
      ...agent('reader', 'uses_tools: [skill_registry, skill_registry/run_skill]'),
    });
    const file = call('read_skill_resource', { skill_id: 'linked', path: 'guide.md' });
    await world.chat('go', [call('run_skill', { skill_id: 'linked', task: 'Do it.' }), file, { text: 'done' }]);
    await expect.poll(async () => (await stats('linked'))['resources']).toBe(1);
    const one = await stats('linked');
    expect(one).toMatchObject({ turns: 1, loaded: { run_skill: 1 }, resources: 1 });
    expect((one['uses'] as { state: string }[]).map(({ state }) => state)).toEqual(['resource_read', 'loaded']);
  });

  it('S90 stats counts what was not used in one line, and lists it with --all', async () => {
    world = await skillKernel({
      ...skill('alpha'),
      ...skill('beta'),
      ...skill('bound'),
      ...agent('reader', 'uses_tools: [skill_registry]', 'uses_skills: [bound]', 'skills: { allow: [alpha] }'),
    });
    await world.chat('hello');
    const short = await world.print('skills stats');
    expect(short).toContain('2 more skills were not used; --all shows them');
    expect(short).toMatch(/^bound /m);
    expect(short).not.toMatch(/^beta/m);
    expect(await world.print('skills stats --all')).toMatch(/^beta/m);
    expect(await world.command('skills stats sandbox/skills/bound')).toMatchObject({ id: 'bound', loaded: { uses_skills: 1 } });
  });
});

describe('without the extension', () => {
  it('chat, catalog and reading go on, and the command is gone', async () => {
    world = await skillKernel({ ...skill('alpha'), ...without('skill_stats') });
    const { requests } = await world.chat('go', [read('alpha')]);
    expect(JSON.stringify(requests[0])).toContain('Knows all about alpha.');
    expect(JSON.stringify(requests.at(-1)?.messages.at(-1))).toContain('BODY-OF-alpha');
    await expect(world.print('skills stats')).rejects.toThrow(/skill_stats|stats/);
  });
});
