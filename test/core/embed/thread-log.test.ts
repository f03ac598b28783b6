import { describe, expect, it, onTestFinished } from 'vitest';
import { createPith, type PithOptions, type Question, type ThreadLog } from 'pith/embed';
import { scriptedModel, type ScriptedStep, threadLogCases } from 'pith/testing';
import { folderWith } from '../../places.ts';
import { fileLog, mapLog } from '../../fixtures/thread-logs.ts';
import { gate } from '../../waiting.ts';

async function pithWith(store: ThreadLog, script: readonly ScriptedStep[], options: PithOptions = {}) {
  const model = scriptedModel(script);
  const pith = await createPith({ model: model.model, store, ...options });
  onTestFinished(() => pith.close());
  return { pith, model };
}

/** Whether a case says that a log is wrong. */
async function failing(open: () => ThreadLog): Promise<string[]> {
  const failed: string[] = [];
  for (const { name, run } of threadLogCases(open)) await run().catch(() => failed.push(name));
  return failed;
}

describe('U45 the cases for stores of threads', () => {
  it('U45 hold for a store in memory and for one in files, each with two instances', async () => {
    for (const { run } of threadLogCases(() => mapLog(memory))) await run();
    const folder = folderWith();
    for (const { run } of threadLogCases(() => fileLog(folder))) await run();
  });
  const memory = new Map<string, string[]>();

  it.each<[string, RegExp, (right: ThreadLog) => Partial<ThreadLog>]>([
    [
      'compares nothing',
      /nothing is added/u,
      ({ append, read }) => ({ append: async (thread, _, entries) => append(thread, (await read(thread, 0, 1e6)).length, entries) }),
    ],
    [
      'compares before it waits',
      /of fifty/u,
      ({ append, read }) => ({
        async append(thread, length, entries) {
          if ((await read(thread, 0, 1e6)).length !== length) return false;
          await new Promise(setImmediate);
          return append(thread, (await read(thread, 0, 1e6)).length, entries);
        },
      }),
    ],
    ['resolves nothing', /in the order/u, ({ append }) => ({ append: async (...given) => void (await append(...given)) as never })],
    [
      'adds the last entry alone',
      /in the order/u,
      ({ append }) => ({ append: async (thread, length, entries) => append(thread, length, entries.slice(-1)) }),
    ],
    ['reads all from the beginning', /in the order/u, ({ read }) => ({ read: async (thread, _, limit) => read(thread, 0, limit) })],
    ['takes no limit', /in the order/u, ({ read }) => ({ read: async (thread, from) => read(thread, from, 1e6) })],
    [
      'lists the oldest first',
      /the list has/u,
      ({ list }) => ({ list: async (limit) => [...(await list(1e6))].reverse().slice(0, limit) }),
    ],
    ['removes nothing', /removed thread is gone/u, () => ({ remove: async () => undefined })],
    [
      'keeps what a text is not',
      /of any text/u,
      ({ append }) => ({
        append: async (thread, length, entries) =>
          append(
            thread,
            length,
            entries.map((each) => each.normalize('NFC').slice(0, 65_536)),
          ),
      }),
    ],
    [
      'folds ids',
      /ids may be any text/u,
      ({ append, read }) => ({
        append: async (thread, ...rest) => append(thread.trim(), ...rest),
        read: async (thread, ...rest) => read(thread.trim(), ...rest),
      }),
    ],
  ])('U45 fail for one that %s', async (_, named, wrong) => {
    const threads = new Map<string, string[]>();
    const open = (): ThreadLog => ({ ...mapLog(threads), ...wrong(mapLog(threads)) });
    expect((await failing(open)).join('\n')).toMatch(named);
  });

  it('U45 fail for one whose instances do not share, and for one that gives its own arrays away', async () => {
    expect((await failing(() => mapLog())).join('\n')).toMatch(/another one sees/u);
    const threads = new Map<string, string[]>();
    const given = (): ThreadLog => ({ ...mapLog(threads), read: async (thread) => threads.get(thread) ?? [] });
    expect((await failing(given)).join('\n')).toMatch(/returned changes no entry/u);
  });
});

/** What was sent of results. */
const results = (request: unknown): string =>
  JSON.stringify((request as { messages: readonly { role: string }[] }).messages.filter(({ role }) => role === 'tool'));

describe('U45 a program with a store of its own', () => {
  it('U45 goes on in another Pith, lists, reads and removes threads', async () => {
    const log = mapLog();
    const first = await pithWith(log, [{ text: 'Hello Ana.' }]);
    await first.pith.run('I am Ana', { thread: 'user/42' }).result;
    await first.pith.run('other', { thread: 'user' }).result.catch(() => undefined);
    await first.pith.close();
    const second = await pithWith(log, [{ text: 'Ana.' }]);
    expect((await second.pith.run('who am I?', { thread: 'user/42' }).result).text).toBe('Ana.');
    expect(JSON.stringify(second.model.requests[0])).toContain('I am Ana');
    expect(await second.pith.threads.list()).toMatchObject([
      { id: 'user/42', title: 'I am Ana' },
      { id: 'user', title: 'other' },
    ]);
    expect(await second.pith.threads.messages('user/42')).toHaveLength(4);
    await second.pith.threads.remove('user');
    await second.pith.threads.remove('user/42');
    expect([await second.pith.threads.list(), await second.pith.threads.messages('user/42')]).toEqual([[], null]);
    await expect(second.pith.threads.remove('user/42')).rejects.toMatchObject({ code: 'thread_unknown' });
  });
});
