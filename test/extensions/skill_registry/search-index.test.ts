import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { createRanker } from '../../../sandbox/extensions/skill_registry/search/bm25f.ts';
import { indexFileIn } from '../../../sandbox/extensions/skill_registry/search/index-file.ts';
import { openIndex } from '../../../sandbox/extensions/skill_registry/search/open-index.ts';
import type { StoredRanker } from '../../../sandbox/extensions/skill_registry/search/ranker.ts';
import type { SkillIndex } from '../../../sandbox/extensions/skill_registry/search/skill-index.ts';
import { commandContext, skillSandbox, skillText, systemClock, type SkillSandbox } from './skill-sandbox.ts';

/** A time so far from the files' that all of them count as settled. */
const settled = { ...systemClock, now: () => 0 };

interface Opened {
  readonly index: SkillIndex;
  /** Ids whose bodies were read. */
  readonly read: string[];
  find(query: string): Promise<string[]>;
  /** As `pith skills list` would show them. */
  tokens(): [string, number, boolean][];
  close(): Promise<void>;
}

/** One process: registry and index over the same data folder. */
async function open(box: SkillSandbox): Promise<Opened> {
  const registry = box.registry({ clock: settled, keepsBodies: false });
  const read: string[] = [];
  const study = registry.studyBody.bind(registry);
  registry.studyBody = (skill) => {
    read.push(skill.id);
    return study(skill);
  };
  const index = openIndex(commandContext(box), registry);
  await index.sync(await registry.refresh());
  await index.settled();
  return {
    index,
    read,
    find: async (query) => (await index.rank(registry.current(), query, { k: 10, patienceMs: 0 })).ranked.map(({ id }) => id),
    tokens: () => registry.current().all.map(({ id, tokens, tokensEstimated }) => [id, tokens, tokensEstimated]),
    async close() {
      await index.close();
      await registry.close();
    },
  };
}

const skill = (name: string, body: string) => ({ [`sandbox/skills/${name}/SKILL.md`]: skillText({ name, body }) });
const file = (box: SkillSandbox) => indexFileIn(path.join(box.sandbox, 'data/skill_registry'));
const warnings = (box: SkillSandbox) => box.log.filter((line) => line.startsWith('warn'));

describe('the stored search index', () => {
  it('S21 R3 a restart with unchanged skills reads no body and answers alike', async () => {
    const box = await skillSandbox({ ...skill('alpha', 'Grows porcupines.\n'), ...skill('beta', 'Feeds badgers.\n') });
    const first = await open(box);
    expect(first.read.sort()).toEqual(['alpha', 'beta']);
    expect(await first.find('porcupines')).toEqual(['alpha']);
    await first.close();
    expect((await readdir(path.dirname(file(box)))).sort()).toEqual(['index', 'search-index']);
    const second = await open(box);
    expect(second.read).toEqual([]);
    expect(await second.find('porcupines')).toEqual(['alpha']);
    expect(await second.find('badgers')).toEqual(['beta']);
    await second.close();
    expect(warnings(box)).toEqual([]);
  });

  it('S21 reads again only what changed while nobody ran, and forgets what went', async () => {
    const box = await skillSandbox({
      ...skill('alpha', 'Grows porcupines.\n'),
      ...skill('beta', 'Feeds badgers.\n'),
      ...skill('gamma', 'Counts owls.\n'),
    });
    await (await open(box)).close();
    await box.write('sandbox/skills/alpha/SKILL.md', skillText({ name: 'alpha', body: 'Grows hedgehogs.\n' }));
    await box.remove('sandbox/skills/beta');
    const second = await open(box);
    expect(second.read).toEqual(['alpha']);
    expect(await second.find('hedgehogs')).toEqual(['alpha']);
    expect(await second.find('porcupines')).toEqual([]);
    expect(await second.find('badgers')).toEqual([]);
    expect(await second.find('owls')).toEqual(['gamma']);
    await second.close();
    const third = await open(box);
    expect(third.read).toEqual([]);
    expect(await third.find('hedgehogs')).toEqual(['alpha']);
    await third.close();
  });

  for (const [title, damage] of [
    ['cut short', (bytes: Buffer) => bytes.subarray(0, bytes.length / 2)],
    ['empty', () => Buffer.alloc(0)],
    ['of another format', (bytes: Buffer) => Buffer.concat([bytes.subarray(0, 1), Buffer.from('other skill search'), bytes.subarray(19)])],
    ['wrong in one bit', (bytes: Buffer) => Buffer.concat([bytes.subarray(0, 60), Buffer.from([bytes[60]! ^ 4]), bytes.subarray(61)])],
    ['of text', () => Buffer.from('{"not":"ours"}'.repeat(20))],
  ] as const) {
    it(`S21 R3 an index that is ${title} is made anew, with a line`, async () => {
      const box = await skillSandbox(skill('alpha', 'Grows porcupines.\n'));
      await (await open(box)).close();
      const whole = await readFile(file(box));
      await writeFile(file(box), damage(whole));
      const second = await open(box);
      expect(second.read).toEqual(['alpha']);
      expect(await second.find('porcupines')).toEqual(['alpha']);
      expect(warnings(box)).toEqual([expect.stringMatching(/search index .*search-index is of no use and is made anew/)]);
      await second.close();
      expect(await readFile(file(box))).toEqual(whole);
    });
  }

  it('S21 ranks what it has while a body is being read, and says that there is more to come', async () => {
    const box = await skillSandbox({ ...skill('alpha', 'Grows porcupines.\n'), ...skill('beta', 'Feeds badgers.\n') });
    const registry = box.registry({ clock: settled, keepsBodies: false });
    const study = registry.studyBody.bind(registry);
    let goOn = () => {};
    const held = new Promise<void>((resolve) => (goOn = resolve));
    registry.studyBody = (one) => held.then(() => study(one));
    const index = openIndex(commandContext(box), registry);
    const prepared = index.sync(await registry.refresh());
    expect(index.rankNow('alpha', { k: 5 })).toEqual({ ranked: [], ready: false });
    await prepared;
    expect(index.rankNow('alpha', { k: 5 })).toMatchObject({ ranked: [{ id: 'alpha' }], ready: false });
    goOn();
    await index.settled();
    expect(index.rankNow('porcupines', { k: 5 })).toMatchObject({ ranked: [{ id: 'alpha' }], ready: true });
    await index.close();
  });

  it('S21 says once that it cannot be written, and goes on searching', async () => {
    const box = await skillSandbox(skill('alpha', 'Grows porcupines.\n'));
    await mkdir(file(box), { recursive: true });
    const first = await open(box);
    expect(await first.find('porcupines')).toEqual(['alpha']);
    await first.close();
    expect(warnings(box).filter((line) => line.includes('cannot be written'))).toHaveLength(1);
  });

  it('S21 counts the tokens of a body when it is read, and keeps the count for who reads none', async () => {
    const box = await skillSandbox({ ...skill('alpha', `${'internationalisation '.repeat(50)}\n`), ...skill('off', 'x\n') });
    const list = box.registry({ clock: settled, keepsBodies: false, config: { disabled: ['off'] } });
    const estimated = (await list.refresh()).skills.get('alpha')!;
    expect(estimated.tokensEstimated).toBe(true);
    await list.close();
    const first = await open(box);
    const [, exact] = first.tokens()[0]!;
    expect(exact).not.toBe(estimated.tokens);
    await first.close();
    const listed = (await box.registry({ clock: settled, keepsBodies: false }).refresh()).skills.get('alpha')!;
    expect([listed.tokens, listed.tokensEstimated]).toEqual([exact, false]);
  });
});

describe('dump and restore', () => {
  const documents = Array.from({ length: 400 }, (_, at) => ({
    id: `skill-${at}`,
    version: `v${at}`,
    name: `Skill ${at} é`,
    tags: at % 3 === 0 ? ['third'] : [],
    description: `Handles subject${at % 7} and topic${at}.`,
    examples: [`please do ${at}`],
    body: `word${at % 13} `.repeat(at % 40) + '水墨画の描き方',
  }));
  const queries = ['subject3 topic10', 'word5', 'third', '水墨', 'skill-12', 'topic99 please', 'toipc310', 'handles subject3'];

  function bytesOf(ranker: StoredRanker): Buffer {
    return Buffer.concat([...ranker.dump()].map((piece) => piece!));
  }

  it('R2 bring back the same ranking, to the last digit, also after removals', () => {
    const ranker = createRanker();
    for (const one of documents) ranker.upsert(one);
    for (const at of [3, 77, 399]) ranker.remove(`skill-${at}`);
    ranker.upsert({ ...documents[5]!, version: 'new', body: 'zebra' });
    const copy = createRanker();
    expect([...copy.restore(bytesOf(ranker))].length).toBeGreaterThan(0);
    for (const query of [...queries, 'zebra']) expect(copy.rank(query, { k: 20 })).toEqual(ranker.rank(query, { k: 20 }));
    expect([copy.versionOf('skill-5'), copy.versionOf('skill-3'), [...copy.known()].length]).toEqual(['new', null, 397]);
    for (let at = 0; at < 300; at++) [ranker, copy].forEach((one) => one.remove(`skill-${at}`));
    for (const query of queries) expect(copy.rank(query, { k: 20 })).toEqual(ranker.rank(query, { k: 20 }));
  });

  it('S21 hold what stood when they began, whatever changes between the pieces', () => {
    const ranker = createRanker();
    for (const one of documents) ranker.upsert({ ...one, body: Array.from({ length: 300 }, (_, word) => `w${one.id}x${word}`).join(' ') });
    const pieces: Uint8Array[] = [];
    let changes = 0;
    for (const piece of ranker.dump()) {
      pieces.push(piece!);
      if (changes < 20) ranker.upsert({ ...documents[changes]!, version: 'later', body: `later${changes++}` });
    }
    expect(pieces.length).toBeGreaterThan(5);
    const copy = createRanker();
    for (const _ of copy.restore(Buffer.concat(pieces)));
    expect(copy.rank('later0', { k: 5 })).toEqual([]);
    expect(copy.versionOf('skill-0')).toBe('v0');
    expect(copy.rank('wskill-399x7', { k: 1 })[0]?.id).toBe('skill-399');
  });

  it('S21 end with null when the numbers changed meanwhile', () => {
    const ranker = createRanker();
    for (const one of documents) ranker.upsert({ ...one, body: Array.from({ length: 300 }, (_, word) => `w${one.id}x${word}`).join(' ') });
    let last: Uint8Array | null = null;
    for (const piece of ranker.dump()) {
      last = piece;
      for (const { id } of documents.slice(0, 300)) ranker.remove(id);
    }
    expect(last).toBeNull();
  });
});
