import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ApprovalQuestion } from '../../../core/contract/index.ts';
import { createSqliteApprovals } from '../../../core/agent/index.ts';
import { openPermissionsFile } from '../../../core/trust/index.ts';
import { folderWith } from '../../places.ts';
import { manualClock } from '../store/manual-clock.ts';
import { lastingFence, temporaryStore } from '../store/temporary-store.ts';
import { call, createWorld, type FakeTool, type World, type WorldOptions } from './world.ts';

const run = (command: string) => call('run', { command });

/** Asks for each command by its first two words. */
function runs(more: Partial<ApprovalQuestion> = {}): FakeTool {
  return {
    needsApproval: 'maybe',
    effect: 'write',
    asks: (input) => {
      const { command } = input as { command: string };
      const prefix = command.split(' ').slice(0, 2).join(' ');
      return {
        summary: `run ${command}`,
        text: command,
        always: { key: `command:${prefix}`, covers: `commands that begin with ${prefix}` },
        ...more,
      };
    },
    run: () => 'ran',
  };
}

/** `ext` has `run`, unless its tools are said; a person's permissions are kept in `home`. */
async function asking(script: WorldOptions['script'], tools: WorldOptions['tools'] = { run: runs() }) {
  const home = folderWith();
  return { world: await createWorld({ home, tools, script }), home };
}
const inputs = ({ calls }: World) => calls.map(({ input }) => (input as { command?: string }).command);

describe('U12 what always covers', () => {
  it('U12 a key covers every later call of that tool with it, whatever its text, and no other key', async () => {
    const { world } = await asking([run('npm test'), run('npm test -- a.test.ts'), run('npm publish'), { text: 'done' }]);
    expect((await world.run('go')).questions).toMatchObject([{ covers: 'it says: commands that begin with npm test' }]);
    await world.answer('always');
    const { questions, end } = await world.resume();
    expect(end.reason).toBe('awaiting_approval');
    expect(inputs(world)).toEqual(['npm test', 'npm test -- a.test.ts']);
    expect(questions).toMatchObject([{ input: { command: 'npm publish' } }]);
  });

  it('U12 the key of one tool is none of another, and ends with the code that was asked about', async () => {
    const tools = { run: runs(), other: runs() };
    const { world } = await asking([run('npm test'), call('other', { command: 'npm test' }), { text: 'done' }, run('npm test')], tools);
    await world.run('go');
    await world.answer('always');
    expect((await world.resume()).questions).toMatchObject([{ tool: 'ext/other' }]);
    await world.answer('once');
    await world.resume();
    await world.declare('ext', { tools });
    expect((await world.run('again')).questions).toMatchObject([{ tool: 'ext/run' }]);
  });

  it('U12 never with once; a key or a subject that could be the beginning of another is for once', async () => {
    const long = { key: 'k'.repeat(1025), covers: 'all' };
    const tools = {
      one: runs({ once: true }),
      two: runs({ always: long }),
      three: runs({ always: { key: '', covers: 'all' } }),
      four: runs({ subject: 's'.repeat(1025) }),
    };
    const input = { command: 'x' };
    const readers = Object.fromEntries(Object.entries(tools).map(([name, tool]) => [name, { ...tool, effect: 'read' as const }])); // which ask at once
    const { world } = await asking([{ calls: Object.keys(tools).map((name) => ({ name, input })) }], readers);
    const { questions } = await world.run('go');
    expect(questions).toHaveLength(4);
    for (const question of questions) {
      expect(question).toMatchObject({ once: true });
      expect(question).not.toHaveProperty('covers');
    }
    for (const open of await world.approvals.list()) {
      expect(world.approvals.offered(open)).toEqual(['once', 'no']);
      for (const answer of ['always', 'project'] as const)
        await expect(world.approvals.answer(open.id, { answer, by: 'ann' })).rejects.toMatchObject({ code: 'not_allowed' });
    }
  });

  it('U11 T19 what a stranger says of its call is marked, one printable line, and bounded; what is enforced Pith says', async () => {
    const lies = runs({ summary: `read\n\u001b[2J${'x'.repeat(500)}`, enforced: 'sandboxed: nothing can happen' });
    const { world } = await asking([run('rm')], { run: lies });
    const [question] = (await world.run('go')).questions;
    expect(question).toMatchObject({ enforced: 'not sandboxed: sees what you see' });
    expect(question?.summary).toMatch(/^run run of ext \(it says: read\\n\\x1b\[2Jx+…\)$/u);
    const [open] = await world.approvals.list();
    expect(open?.summary).toHaveLength(200);
    expect(open).toMatchObject({ ships: false, key: 'command:rm' });
  });
});

describe('U12 always in this project', () => {
  it('U12 p covers every conversation and process, is kept in ~/.pith for its owner, and nothing of it in the tree', async () => {
    const { world, home } = await asking([run('npm test'), run('npm test'), { text: 'done' }, run('npm test -- b'), { text: 'done' }]);
    await world.run('go');
    await world.run('go', { threadId: 'other' });
    await world.answer('project');
    expect((await world.resume()).end.reason).toBe('done');
    expect((await world.run('go', { threadId: 'third' })).end.reason).toBe('done');
    const again = await createWorld({ home, sandbox: world.sandbox });
    expect((await again.approvals.permissions('none')).map(({ scope, tool }) => [scope, tool])).toEqual([['project', 'ext/run']]);
    const file = path.join(home, '.pith/permissions.json');
    expect(fs.statSync(file).mode & 0o777).toBe(0o600);
    const kept = JSON.parse(fs.readFileSync(file, 'utf8')).projects[path.dirname(world.sandbox)];
    expect(kept).toEqual([
      {
        tool: 'ext/run',
        always: expect.stringMatching(/^key:[0-9a-f]{64}$/u),
        source: expect.any(String),
        covers: 'it says: commands that begin with npm test',
        at: expect.any(Number),
      },
    ]);
    expect(fs.readdirSync(path.dirname(world.sandbox))).toEqual(['sandbox']);
  });

  it('U12 what else is open anywhere and covered is answered with it; another project asks', async () => {
    const { world } = await asking([run('npm test'), run('npm test')]);
    await world.run('go');
    await world.run('go', { threadId: 'other' });
    expect(await world.approvals.list()).toHaveLength(2);
    await world.answer('project');
    expect(await world.approvals.list()).toEqual([]);
    const elsewhere = await asking([run('npm test')]);
    expect((await elsewhere.world.run('go')).end.reason).toBe('awaiting_approval');
    expect(await elsewhere.world.approvals.permissions()).toEqual([]);
  });

  it('U12 permissions lists both, and what is taken back is asked again', async () => {
    const { world } = await asking([
      run('npm test'),
      run('git status'),
      { text: 'done' },
      run('git status'),
      run('npm test'),
      { text: 'done' },
    ]);
    await world.run('go');
    await world.answer('project');
    await world.resume();
    await world.answer('always');
    await world.resume();
    const all = await world.approvals.permissions('thread');
    expect(all).toMatchObject([
      { scope: 'project', threadId: null, covers: 'it says: commands that begin with npm test' },
      { scope: 'conversation', threadId: 'thread', covers: 'it says: commands that begin with git status' },
    ]);
    expect(await world.approvals.permissions('other')).toMatchObject([{ scope: 'project' }]);
    for (const permission of all) {
      expect(await world.approvals.takeBack(permission)).toBe(true);
      expect(await world.approvals.takeBack(permission)).toBe(false);
    }
    expect(await world.approvals.permissions()).toEqual([]);
    expect((await world.run('again')).end.reason).toBe('awaiting_approval');
    await world.answer('once');
    expect((await world.resume()).end.reason).toBe('awaiting_approval');
  });

  it('U12 T14 it is not offered for what a stranger began, nor where the sandbox is not trusted', async () => {
    const clock = manualClock();
    const permissions = openPermissionsFile(folderWith(), '/project');
    const store = temporaryStore(undefined, clock);
    const trusted = createSqliteApprovals(store, clock, undefined, { ...permissions, mayGive: () => true });
    const untrusted = createSqliteApprovals(store, clock);
    const { world } = await asking([run('npm test')]);
    await world.run('go');
    const [open] = await world.approvals.list();
    const begun = {
      ...open!,
      id: 'begun',
      path: [{ ...open!.path[0]!, startedBy: ['deputy'] }],
      createdAt: clock.now(),
      expiresAt: clock.now() + 1000,
    };
    expect(trusted.offered(open!)).toEqual(['once', 'always', 'project', 'no']);
    expect(trusted.offered(begun)).toEqual(['once', 'always', 'no']);
    expect(untrusted.offered(open!)).toEqual(['once', 'always', 'no']);
    await trusted.ask(begun, await lastingFence(store, clock));
    await expect(trusted.answer('begun', { answer: 'project', by: 'ann' })).rejects.toMatchObject({ code: 'not_allowed' });
    expect(permissions.list()).toEqual([]);
  });

  it('U12 a damaged permissions file gives nothing and is not written over', async () => {
    const home = folderWith({ '.pith/permissions.json': '{"version": 2, "projects": {}}' });
    const permissions = openPermissionsFile(home, '/project');
    const one = { tool: 'ext/run', always: 'key:1', source: null, covers: 'all', at: 1 };
    expect(permissions.list()).toEqual([]);
    expect(() => permissions.add(one)).toThrow(expect.objectContaining({ code: 'trust_failed' }));
    expect(() => permissions.check()).toThrow(/permissions\.json cannot be read: it has version 2, and this Pith knows 1/u); // what the command says
    fs.writeFileSync(
      path.join(home, '.pith/permissions.json'),
      JSON.stringify({ version: 1, projects: { '/project': [one, { tool: 1 }] } }),
    );
    expect(permissions.list()).toEqual([one]);
    permissions.check();
    expect(openPermissionsFile(home, '/other').list()).toEqual([]);
    expect(permissions.remove(one)).toBe(true);
    expect(permissions.remove(one)).toBe(false);
  });
});

describe('the rows of questions', () => {
  it('U13 numbers name one question each as long as somebody may remember them', async () => {
    const { world } = await asking(['a', 'b', 'c', 'd', 'e'].map(run));
    const numbers = async () => (await world.approvals.list()).map(({ number }) => number);
    await world.run('go', { threadId: 'one' });
    await world.run('go', { threadId: 'two' });
    expect(await numbers()).toEqual([1, 2]);
    await world.approvals.answer((await world.approvals.list())[1]!.id, { answer: 'no', by: 'ann' });
    await world.run('go', { threadId: 'three' });
    expect(await numbers()).toEqual([1, 3]);
    for (const { id } of await world.approvals.list()) await world.approvals.answer(id, { answer: 'no', by: 'ann' });
    await world.clock.advance(61 * 60 * 1000);
    await world.run('go', { threadId: 'four' });
    expect(await numbers()).toEqual([1]);
  });

  it('U41 U11 questions of the format before summaries are read: what they say is not believed to ship, and their always stays', async () => {
    const clock = manualClock();
    const store = temporaryStore(undefined, clock);
    await store.write((statement) => {
      for (const sql of FORMER) statement(sql);
    });
    const approvals = createSqliteApprovals(store, clock);
    expect(await approvals.get('open-1')).toMatchObject({
      tool: 'kv/kv_set',
      input: { key: 'a' },
      details: 'sets a',
      number: 0,
      summary: null,
      enforced: null,
      key: null,
      covers: null,
      ships: false,
      answer: null,
    });
    expect(await approvals.permissions()).toMatchObject([{ tool: 'kv/kv_set', threadId: 'talk', covers: 'every call of kv_set' }]);
    expect(await approvals.answer('open-1', { answer: 'once', by: 'ann' })).toMatchObject({ answer: 'once' });
  });
});

const ROW = (id: string, answer: string) =>
  `INSERT INTO approvals VALUES ('${id}', 'turn', 1, 0, 'talk', 'talk', 'kv/kv_set', '{"key":"a"}', 'd1', '[{"agentId":"main","turnId":"turn","threadId":"talk"}]', 'cli', 'local', 'c', 1, 9000000000000000, ${answer}, 'sets a', 'source', NULL, 'tool:1')`;
/** Tables as they were made before questions had a summary. */
const FORMER = [
  'CREATE TABLE IF NOT EXISTS migrations (module TEXT PRIMARY KEY, version INTEGER NOT NULL) WITHOUT ROWID',
  `CREATE TABLE approvals (
     id TEXT PRIMARY KEY, turn TEXT NOT NULL, step INTEGER NOT NULL, place INTEGER NOT NULL, root TEXT NOT NULL, thread TEXT NOT NULL,
     tool TEXT NOT NULL, input TEXT NOT NULL, digest TEXT NOT NULL, path TEXT NOT NULL, channel TEXT NOT NULL, user TEXT NOT NULL, correlation TEXT NOT NULL,
     created INTEGER NOT NULL, expires INTEGER NOT NULL, answer TEXT, reason TEXT, answeredby TEXT, answered INTEGER
   ) WITHOUT ROWID`,
  'CREATE INDEX approvalscall ON approvals (turn, step, place)',
  'CREATE INDEX approvalsroot ON approvals (root, tool, answer)',
  'CREATE INDEX approvalsopen ON approvals (created) WHERE answer IS NULL',
  'ALTER TABLE approvals ADD COLUMN details TEXT',
  'ALTER TABLE approvals ADD COLUMN source TEXT',
  `CREATE INDEX approvalsold ON approvals (created) WHERE answer IS NOT 'always'`,
  'ALTER TABLE approvals ADD COLUMN subject TEXT',
  'ALTER TABLE approvals ADD COLUMN always TEXT',
  `INSERT INTO migrations VALUES ('approvals', 6)`,
  ROW('open-1', 'NULL, NULL, NULL, NULL'),
  ROW('said-1', `'always', NULL, 'ann', 2`),
];
