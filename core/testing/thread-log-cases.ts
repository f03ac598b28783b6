import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { ThreadLog } from '../agent/index.ts';

export interface ThreadLogCase {
  readonly name: string;
  /** Rejects where the log does not do what the name says. */
  run(): Promise<void>;
}

/**
 * What any store of threads must do, for every test runner: `for (const { name, run } of threadLogCases(open)) test(name, run)`. Each call
 * of `open` gives an instance over the same storage, which nobody else writes meanwhile.
 */
export function threadLogCases(open: () => ThreadLog | Promise<ThreadLog>): readonly ThreadLogCase[] {
  return Object.entries(CASES).map(([name, check]) => ({ name, run: async () => checkAlone(check, await open(), await open()) }));
}

/** Leaves nothing of the case in the store. */
async function checkAlone(check: Check, log: ThreadLog, other: ThreadLog): Promise<void> {
  const used = new Set<string>();
  const noting = (of: ThreadLog): ThreadLog => ({
    read: (...given) => of.read(...given),
    list: (...given) => of.list(...given),
    remove: (...given) => of.remove(...given),
    append: (thread, ...given) => (used.add(thread), of.append(thread, ...given)),
  });
  try {
    await check(noting(log), noting(other));
  } finally {
    await Promise.all([...used].map((thread) => log.remove(thread)));
  }
}

type Check = (log: ThreadLog, other: ThreadLog) => Promise<void>;

const ALL = 10_000;
const entry = (value: unknown): string => JSON.stringify({ v: 1, value });
const newThread = (): string => `case-${randomUUID()}`;

const CASES: Readonly<Record<string, Check>> = {
  async 'two instances are over the same storage'(log, other) {
    const thread = newThread();
    assert.equal(await log.append(thread, 0, [entry(1)]), true, 'append to a new thread');
    assert.deepEqual(await other.read(thread, 0, ALL), [entry(1)], 'each call of the function that opens it gives the same storage');
  },

  async 'a thread without entries is empty, cannot be added to behind an entry, and can be removed'(log) {
    const thread = newThread();
    assert.deepEqual(await log.read(thread, 0, ALL), []);
    assert.equal(await log.append(thread, 1, [entry(1)]), false, 'append behind 1 entry of an empty thread');
    assert.deepEqual(await log.read(thread, 0, ALL), []);
    await log.remove(thread);
    assert.ok(!(await log.list(ALL)).includes(thread), 'list has a thread without entries');
  },

  async 'entries are read in the order in which they were added, from any place, as many as asked for'(log) {
    const thread = newThread();
    const entries = Array.from({ length: 25 }, (_, at) => entry(at));
    assert.equal(await log.append(thread, 0, entries.slice(0, 1)), true);
    assert.equal(await log.append(thread, 1, entries.slice(1, 12)), true);
    assert.equal(await log.append(thread, 12, entries.slice(12)), true);
    assert.deepEqual(await log.read(thread, 0, ALL), entries);
    for (const [from, limit] of [
      [0, 1],
      [9, 3],
      [11, 2],
      [24, 5],
      [25, 5],
      [99, 5],
    ] as const)
      assert.deepEqual(await log.read(thread, from, limit), entries.slice(from, from + limit), `read from ${from}, at most ${limit}`);
  },

  async 'nothing is added where the thread has another length, however many entries come'(log) {
    const thread = newThread();
    await log.append(thread, 0, [entry('a'), entry('b')]);
    for (const length of [0, 1, 3, 100])
      assert.equal(await log.append(thread, length, [entry('c'), entry('d')]), false, `length ${length}`);
    assert.deepEqual(await log.read(thread, 0, ALL), [entry('a'), entry('b')]);
  },

  async 'of fifty who add behind the same length, through two instances, one does'(log, other) {
    const thread = newThread();
    await log.append(thread, 0, [entry('first')]);
    const added = await Promise.all(
      Array.from({ length: 50 }, (_, at) => (at % 2 === 0 ? log : other).append(thread, 1, [entry(at), entry(`${at} too`)])),
    );
    assert.equal(added.filter(Boolean).length, 1, 'how many of 50 appends resolved true');
    const winner = added.indexOf(true);
    assert.deepEqual(await other.read(thread, 0, ALL), [entry('first'), entry(winner), entry(`${winner} too`)]);
  },

  async 'fifty who try until they have added lose nothing and repeat nothing'(log, other) {
    const thread = newThread();
    await Promise.all(
      Array.from({ length: 50 }, async (_, at) => {
        const own = at % 2 === 0 ? log : other;
        for (let tries = 0; tries < 50; tries += 1)
          if (await own.append(thread, (await own.read(thread, 0, ALL)).length, [entry(at)])) return;
        assert.fail('an append was refused 50 times, and 49 others added once each');
      }),
    );
    const found = await log.read(thread, 0, ALL);
    assert.deepEqual([...found].sort(), Array.from({ length: 50 }, (_, at) => entry(at)).sort());
  },

  async 'what one instance has added or removed another one sees at once'(log, other) {
    const thread = newThread();
    await log.append(thread, 0, [entry(1)]);
    assert.deepEqual(await other.read(thread, 0, ALL), [entry(1)]);
    assert.ok((await other.list(ALL)).includes(thread), 'list of the other instance');
    assert.equal(await other.append(thread, 1, [entry(2)]), true);
    assert.deepEqual(await log.read(thread, 1, ALL), [entry(2)]);
    await other.remove(thread);
    assert.deepEqual(await log.read(thread, 0, ALL), []);
    assert.equal(await log.append(thread, 2, [entry(3)]), false, 'append behind entries that were removed');
  },

  async 'the list has the thread that was added to last first, and each once'(log) {
    const [one, two, three] = [newThread(), newThread(), newThread()];
    for (const thread of [one, two, three]) await log.append(thread, 0, [entry(thread)]);
    await log.append(one, 1, [entry('again')]);
    assert.deepEqual(await log.list(3), [one, three, two]);
    assert.deepEqual(await log.list(1), [one]);
    await log.append(two, 0, [entry('too late')]);
    assert.deepEqual(await log.list(1), [one], 'after an append that was refused');
    assert.equal((await log.list(ALL)).filter((id) => id === one).length, 1);
  },

  async 'a removed thread is gone and can begin again, and the others stay'(log) {
    const thread = newThread();
    const others = [`${thread}/below`, `${thread}0`, thread.toUpperCase(), `${thread}%`];
    for (const id of [thread, ...others]) assert.equal(await log.append(id, 0, [entry(id)]), true, id);
    await log.remove(thread);
    assert.deepEqual(await log.read(thread, 0, ALL), []);
    assert.ok(!(await log.list(ALL)).includes(thread), 'list has a removed thread');
    for (const id of others) assert.deepEqual(await log.read(id, 0, ALL), [entry(id)], id);
    assert.equal(await log.append(thread, 0, [entry('again')]), true);
    assert.deepEqual(await log.read(thread, 0, ALL), [entry('again')]);
  },

  async 'ids may be any text'(log) {
    const base = newThread();
    const ids = ['', ' ', '/', '/..', '/../x', "'", '"', '\\', '_', '*', ':', 'ü', 'u\u0308', '日本', '👩‍🚀', '\n', 'x'.repeat(180)].map(
      (end) => base + end,
    );
    for (const id of ids) assert.equal(await log.append(id, 0, [entry(id)]), true, JSON.stringify(id));
    for (const id of ids) assert.deepEqual(await log.read(id, 0, ALL), [entry(id)], JSON.stringify(id));
    assert.deepEqual(new Set(await log.list(ids.length)), new Set(ids));
  },

  async 'entries of any text, of a megabyte and by the thousand come back as they were'(log) {
    const thread = newThread();
    const odd = ['', 'a\u0000b', '\ud800', 'ü日本👩‍🚀', '\r\n\t\\"\'', '\u2028', '{"v":1}', '%s $1 ${x}', 'e\u0301'].map(entry);
    const large = [entry('ü'.repeat(500_000)), entry('x'.repeat(1_000_000))];
    const many = Array.from({ length: 1200 }, (_, at) => entry(at));
    assert.equal(await log.append(thread, 0, odd), true);
    assert.equal(await log.append(thread, odd.length, large), true);
    assert.equal(await log.append(thread, odd.length + 2, many), true);
    assert.deepEqual(await log.read(thread, 0, odd.length), odd);
    for (const [at, text] of large.entries()) assert.ok((await log.read(thread, odd.length + at, 1))[0] === text, `large entry ${at}`);
    assert.deepEqual(await log.read(thread, odd.length + 2, ALL), many);
  },

  async 'what is changed later in an array that was given or returned changes no entry'(log) {
    const thread = newThread();
    const given = [entry(1)];
    await log.append(thread, 0, given);
    given.push(entry('given'));
    const returned = (await log.read(thread, 0, ALL)) as string[];
    returned.push(entry('returned'));
    assert.deepEqual(await log.read(thread, 0, ALL), [entry(1)]);
  },
};
