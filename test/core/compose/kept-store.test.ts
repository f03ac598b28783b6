import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { JsonValue } from 'pith';
import { fakeClock, type TestKernel } from 'pith/testing';
import { describe, expect, it } from 'vitest';
import { openDatabase } from '../../../core/store/index.ts';
import { rowsIn } from '../../extensions/saved_skills/shared-store.ts';
import { storeModel } from '../../fixtures/store-model.ts';
import { digestsIn, openStoreFixture, STORE, storeContents } from '../../fixtures/store.ts';
import { folderWith, kernelOf } from '../../places.ts';
import { passing } from '../../waiting.ts';

/** After the kill: all leases are over by then, and the next tick of the schedule, each ten minutes, is far. */
const LATER_MS = 65 * 60_000;

/** A copy, changed by `prepare`, opened by the code of today. */
async function opened(prepare: (sandbox: string) => void = () => undefined) {
  const { sandbox, home, contents } = openStoreFixture(folderWith());
  prepare(sandbox);
  const clock = fakeClock(contents.killedAt + LATER_MS);
  const model = storeModel();
  const pith = await kernelOf({ sandbox, home, accepts: false, clock, model });
  const done = () => readFileSync(path.join(sandbox, 'data/extensions/toolbox/done'), 'utf8').trimEnd().split('\n');
  const as = async (userId: string, line: string): Promise<Rows> =>
    (await pith.command(line, { json: true, userId })).values.at(-1) as unknown as Rows;
  return { pith, clock, model, done, as, file: path.join(sandbox, 'data/pith.db') };
}

type Rows = readonly { readonly [name: string]: JsonValue }[];

/** `name state`, sorted. */
const told = (rows: Rows, name: string, state = 'state') => rows.map((row) => `${String(row[name])} ${String(row[state])}`).toSorted();
const times = (count: number, value: string | number) => Array.from({ length: count }, () => value);
const open = async ({ kernel }: TestKernel) => told((await kernel.approvals.list()) as never as Rows, 'tool', 'userId');

const ENDED = [
  ...times(3, 'ada/diary ok'),
  'ada/fix cancelled',
  'ada/greet ok',
  'ada/hook ok',
  'ada/hourly ok',
  'ada/lost ok',
  'ada/note ok',
  'ada/wrong error',
];

/** Whom open questions are about. */
const PAID = ['tailor', 'milkman', 'mason', 'grocer'];

describe('the store of 0.1', () => {
  it('is as it was made: what later code changes are copies', () => {
    expect(digestsIn(STORE)).toEqual(storeContents().files);
  });

  it('has the tables, rows and versions that its contents name', () => {
    const { sandbox, contents } = openStoreFixture(folderWith());
    const database = openDatabase(path.join(sandbox, 'data/pith.db'));
    const count = (name: string) => Number(database.get(`SELECT count(*) AS n FROM ${name}`)?.['n']);
    const names = database.all("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'");
    expect(Object.fromEntries(names.map(({ name }) => [name, count(String(name))]))).toEqual(contents.tables);
    expect(Object.fromEntries(database.all('SELECT * FROM migrations').map(({ module, version }) => [module, version]))).toEqual(
      contents.versions,
    );
    expect(database.get('PRAGMA user_version')).toEqual({ user_version: contents.userVersion });
    database.close();
  });

  it('is shown by every door, and the doctor says what is wrong with it and nothing else', async () => {
    const { pith, as } = await opened();
    const { ok, notes, agents, extensions } = await pith.kernel.doctor();
    expect(notes.map(({ message }) => message)).toEqual([
      expect.stringContaining("could not be delivered to 'toolbox/filed' after 8 attempts"),
      expect.stringContaining("1 event waits for 'leaver/filed'"),
    ]);
    expect([ok, [...agents, ...extensions].filter(({ state }) => state === 'failed')]).toEqual([true, []]);

    expect(told(await as('ada', 'runs list --limit 50'), 'skill')).toEqual(
      [...ENDED, 'ada/buy waiting', 'ada/fix queued', ...times(2, 'ada/fix running'), 'ada/outer running'].toSorted(),
    );
    expect(told(await as('ben', 'runs list'), 'skill')).toEqual(['ada/report ok']);
    expect(told(await as('ada', 'tasks list --limit 50'), 'goal')).toEqual([
      'ask: colour cancelled',
      'ask: size human_review',
      'break: once retry_scheduled',
      'fail: always failed',
      'mend: roof running',
      'pay: mason human_review',
      'remember: after blocked',
      'remember: garden done',
      'remember: last pending',
      'split: deep waiting_subtasks',
      'think: deep running',
    ]);
    expect(told(await as('ada', 'tasks schedules list'), 'message', 'user')).toEqual([
      'remember: 2m ada',
      'remember: 3d ada',
      'remember: 9 ada',
    ]);
    expect(await open(pith)).toEqual(times(4, 'toolbox/pay ada'));
    expect((await pith.kernel.approvals.permissions()).map(({ tool, scope }) => `${tool} ${scope}`)).toEqual([
      'toolbox/lend project',
      'toolbox/pay conversation',
    ]);
    const talk = await pith.kernel.threads.load('talk');
    expect(talk?.thread).toMatchObject({ title: 'Colours and poets', compactions: 1 });
    expect(JSON.stringify(talk?.messages)).toContain('hire poet');

    const saved = await as('ada', 'saved list --deprecated');
    expect(saved.map(({ name }) => name)).toEqual(['old']);
    expect(told(await as('ada', 'saved list'), 'name', 'visibility')).toEqual(
      expect.arrayContaining(['draft private', 'note shared', 'report public', 'greet private', 'hook private']),
    );
    expect(told(await as('ben', 'saved list'), 'name', 'visibility')).toEqual(expect.arrayContaining(['note shared', 'report public']));
    expect(told(await as('ada', 'skills list'), 'id', 'source')).toEqual(
      expect.arrayContaining(['dice sandbox/skills', 'letters sandbox/skills']),
    );
    expect(await pith.kernel.agents.callTool('clerk', 'kv_get', { key: 'colour' })).toMatchObject({
      output: { value: { kept: 'colour' } },
    });
  });

  it('U41 P8 has the kept version of a skill for agents that name it; one of a newer Pith is none', async () => {
    const names = Object.keys(storeContents().files).join('\n');
    const [, file = '', digest = ''] = /^project\/sandbox\/(.+\/versions\/\w+\/(\w+)\.json)$/m.exec(names) ?? [];
    const roll = async (format: object) => {
      const { pith } = await opened((sandbox) => {
        const facts = JSON.parse(readFileSync(path.join(sandbox, file), 'utf8')) as object;
        writeFileSync(path.join(sandbox, file), JSON.stringify({ ...format, ...facts }));
        writeFileSync(path.join(sandbox, 'skills/dice/SKILL.md'), '---\nname: dice\ndescription: d\n---\nChanged.\n');
        writeFileSync(
          path.join(sandbox, 'agents/helper/manifest.yaml'),
          `id: helper\nversion: 1.0.0\nagent:\n  description: d\n  uses_skills: ["dice@${digest}"]\n`,
        );
      });
      return pith.run('Roll the dice', { agent: 'helper' });
    };
    expect((await roll({})).requests[0]!.system).toContain('See references/sides.md');
    expect((await roll({ format: 2 })).error?.message).toContain(`no version 'sha256:${digest.slice(0, 12)}`);
  });

  it('U41 a Pith 0.1 that runs on while this one has migrated writes as before: it inserts by position', async () => {
    let before: unknown;
    const { pith, file } = await opened((sandbox) => (before = columnsOf(path.join(sandbox, 'data/pith.db'))));
    expect(columnsOf(file)).toEqual(before);
    const older = openDatabase(file);
    for (const [sql, ...values] of OF_0_1) older.run(sql, ...values);
    older.close();
    expect((await pith.kernel.threads.load('late'))?.thread).toMatchObject({ title: 'Late', branchOf: null });
    expect((await pith.kernel.threads.load('late'))?.messages).toMatchObject([{ message: { role: 'user' } }]);
    expect(await pith.kernel.agents.checkThread('late', { repair: false })).toMatchObject({ faults: [] });
  });

  it('U41 has the lock of its skills: an update fetches from where one came', async () => {
    const { as } = await opened();
    expect(await as('ada', 'skills update')).toEqual([{ id: 'dice', state: 'current', source: 'project' }]);
  });

  it('V1 has nothing wrong in its conversations, and each is one that its model takes', async () => {
    const { pith } = await opened();
    const threads = await pith.kernel.threads.list(100);
    const checked = await Promise.all(threads.map(({ id }) => pith.kernel.agents.checkThread(id, { repair: true })));
    expect(checked.map(({ faults, repaired }) => ({ faults, repaired }))).toEqual(checked.map(() => ({ faults: [], repaired: false })));
    expect(threads.length).toBeGreaterThan(10);
  });

  it('K45 K91 M60 M68 goes on: what was killed ends once, what waited is delivered once, and what a person is asked stays open', async () => {
    const { pith, clock, as, done, file } = await opened();
    const before = done();
    await pith.kernel.start();
    const ofTasks = async () => told(await as('ada', 'tasks list --limit 50'), 'goal');
    const underWay = /running|queued|pending|blocked|retry_scheduled|waiting_subtasks/;
    await passing(
      clock,
      async () => {
        const states = [...told(await as('ada', 'runs list --limit 50'), 'skill'), ...(await ofTasks())];
        return !states.some((state) => underWay.test(state)) && done().some((line) => line.includes('after'));
      },
      250,
    );
    await clock.advance(60_000); // nothing of it comes a second time

    expect(told(await as('ada', 'runs list --limit 50'), 'skill')).toEqual(
      [...ENDED, 'ada/buy waiting', ...times(3, 'ada/fix ok'), 'ada/hourly ok', 'ada/outer ok'].toSorted(),
    );
    expect((await ofTasks()).filter((state) => !state.endsWith(' done'))).toEqual([
      'ask: colour cancelled',
      'ask: size human_review',
      'fail: always failed',
      'pay: mason human_review',
    ]);
    const ends = rowsIn<{ n: number }>(file, "SELECT count(*) AS n FROM task_engine__changes WHERE state = 'done' GROUP BY task");
    expect(ends.map(({ n }) => n)).toEqual(times(7, 1));

    const since = done().slice(before.length);
    expect(before.filter((line) => line.startsWith('began'))).toHaveLength(4);
    expect(since.filter((line) => line.startsWith('began'))).toEqual(['began door']); // the run that was queued; no write is repeated
    const once = ['filed letter', 'pager:desk: ada/hook: heard you', 'remember 2m', ...PAID.map((who) => `to: "${who}"`)];
    for (const goal of ['garden', 'last', 'after']) once.push(`(remember: ${goal}) is done`);
    expect(once.map((text) => [text, since.filter((line) => line.includes(text)).length])).toEqual(once.map((text) => [text, 1]));
    expect(since.filter((line) => line.includes('ada/hourly: heard you'))).toHaveLength(2); // one had waited, one was overdue

    expect(await open(pith)).toEqual(times(4, 'toolbox/pay ada'));
    for (const { id } of await pith.kernel.approvals.list()) await pith.kernel.approvals.answer(id, { answer: 'once', by: 'ada' });
    for (const threadId of ['shop', 'errand', 'works']) await pith.run('', { threadId, input: undefined, resume: true, userId: 'ada' });
    await passing(clock, () => PAID.every((who) => done().includes(`pay ${who}`)));
    const works = (await pith.kernel.threads.load('works'))?.messages.at(-1);
    expect(JSON.stringify(works)).toContain('mend fence, maybe');
  });

  it('M77 M78 opens the vault with its key: what is plain and what is sealed', async () => {
    const { pith, clock, model, as } = await opened();
    await pith.kernel.start();
    const file = path.join(folderWith({ 'skill.yml': READER }), 'skill.yml');
    await as('ada', `saved edit diary --file ${file}`);
    for (const day of ['monday', 'tuesday', 'wednesday']) {
      const run = (await as('ada', `run diary ${day} --background`)) as unknown as { readonly id: string };
      const shown = async () => (await as('ada', `runs show ${run.id}`)) as unknown as { readonly state: string };
      await passing(clock, async () => (await shown()).state === 'ok', 100);
      expect(model.requests.some(({ messages }) => JSON.stringify(messages).includes(`the ${day}`))).toBe(true);
      const thread = await pith.kernel.threads.load(`runs/${run.id}`);
      expect(JSON.stringify(thread?.messages)).not.toContain(`the ${day}`); // encryption is on
    }
  });
});

/** What makes the diary read. */
const READER = JSON.stringify({ initial_message: 'read: {{ day }}', tools: ['skill_vault/skill_data_get'] });

/** Names of the columns of Pith's own tables, in their order; of tables of 0.1 alone. */
function columnsOf(file: string): Readonly<Record<string, readonly unknown[]>> {
  const database = openDatabase(file);
  const names = Object.keys(storeContents().tables).filter((name) => !name.includes('__'));
  const columns = names.map((name) => [name, database.all(`PRAGMA table_info(${name})`).map((column) => column['name'])]);
  database.close();
  return Object.fromEntries(columns) as Readonly<Record<string, readonly unknown[]>>;
}

/** What Pith 0.1 writes when a turn begins, as it writes it. */
const OF_0_1 = [
  [`INSERT INTO threads VALUES (?, ?, ?, ?, ?, ?, 0)`, 'late', 'clerk', '2026-01-01', 'Late', 1, 1],
  [
    `INSERT INTO turns VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, 0, 0, ?)`,
    'T',
    'late',
    'cli',
    'ada',
    'c',
    0,
    'done',
    1,
    2,
    3,
    1,
    null,
    null,
  ],
  [`INSERT INTO turnagents VALUES (?, ?, ?)`, 'T', '{"id":"clerk"}', '{}'],
  [`INSERT INTO messages VALUES (?, ?, ?, ?, ?)`, 'late', 1, 'T', '{"role":"user","content":[{"type":"text","text":"Late"}]}', null],
  [
    `INSERT INTO calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    'T',
    0,
    0,
    'c1',
    'act',
    'x',
    'act',
    '{}',
    'read',
    'finished',
    '{"ok":true}',
  ],
  [`INSERT INTO events VALUES (NULL, ?, ?, ?, ?, ?)`, 'user.message', 'late', '{}', 'c', 1],
] as const;
