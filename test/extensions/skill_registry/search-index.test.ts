import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { CANDIDATES_ABOVE, openIndex } from '../../../sandbox/extensions/skill_registry/search/open-index.ts';
import type { SkillIndex } from '../../../sandbox/extensions/skill_registry/search/skill-index.ts';
import { commandContext, skillSandbox, skillText, systemClock, type SkillSandbox } from './skill-sandbox.ts';

/** A time so far from the files' that all of them count as settled. */
const settled = { ...systemClock, now: () => 0 };

interface Opened {
  readonly index: SkillIndex;
  /** Ids whose bodies were read. */
  readonly read: string[];
  find(query: string): Promise<string[]>;
  /** Takes over what changed. */
  refresh(): Promise<void>;
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
    async refresh() {
      await index.sync(await registry.refresh());
      await index.settled();
    },
    tokens: () => registry.current().all.map(({ id, tokens, tokensEstimated }) => [id, tokens, tokensEstimated]),
    async close() {
      await index.close();
      await registry.close();
    },
  };
}

const skill = (name: string, body: string) => ({ [`sandbox/skills/${name}/SKILL.md`]: skillText({ name, body }) });
const file = (box: SkillSandbox) => path.join(box.sandbox, 'data/extensions/skill_registry/catalog.db');
const warnings = (box: SkillSandbox) => box.log.filter((line) => line.startsWith('warn'));

it('R3 above 20,000 skills the words of bodies stay in the file', () => {
  expect(CANDIDATES_ABOVE).toBe(20_000);
});

describe('the stored search index', () => {
  it('S21 R3 a restart with unchanged skills reads no body and answers alike', async () => {
    const box = await skillSandbox({ ...skill('alpha', 'Grows porcupines.\n'), ...skill('beta', 'Feeds badgers.\n') });
    const first = await open(box);
    expect(first.read.sort()).toEqual(['alpha', 'beta']);
    expect(await first.find('porcupines')).toEqual(['alpha']);
    await first.close();
    expect((await readdir(path.dirname(file(box)))).sort()).toEqual(['catalog.db', 'index']);
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

  for (const [title, damage, why] of [
    ['cut short', (bytes: Buffer) => bytes.subarray(0, bytes.length / 2), /malformed/],
    ['wrong in one bit', wrongRecord, /it is damaged/],
    ['of text', () => Buffer.from('{"not":"ours"}'.repeat(20)), /not a database/],
  ] as const) {
    it(`S21 R3 an index that is ${title} is rebuilt, with a line`, async () => {
      const box = await skillSandbox(skill('alpha', 'Grows porcupines.\n'));
      await (await open(box)).close();
      await writeFile(file(box), damage(await readFile(file(box))));
      const second = await open(box);
      expect(second.read).toEqual(['alpha']);
      expect(await second.find('porcupines')).toEqual(['alpha']);
      expect(warnings(box)).toEqual([
        expect.stringMatching(new RegExp(`cache .*catalog\\.db is of no use and is rebuilt: .*${why.source}`)),
      ]);
      await second.close();
      const third = await open(box);
      expect([third.read, warnings(box).length]).toEqual([[], 1]);
      await third.close();
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
    expect(index.rankNow('alpha', { k: 5 })).toMatchObject({ ranked: [], ready: false });
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
    expect(warnings(box)).toEqual([expect.stringMatching(/what search learns is not kept: cache .*catalog\.db: /)]);
  });

  it('R3 the first turn after a start is ranked by the file, for who may see what it ranks', async () => {
    const box = await skillSandbox({ ...skill('alpha', 'Grows porcupines.\n'), ...skill('beta', 'Feeds porcupines.\n') });
    await (await open(box)).close();
    const registry = box.registry({ clock: settled, keepsBodies: false });
    const snapshot = await registry.refresh();
    let load = () => {};
    const held = new Promise<readonly string[]>((resolve) => (load = () => resolve([])));
    const learned = { of: () => [], look: () => held };
    const index = openIndex(commandContext(box), registry, learned);
    await index.prepare(snapshot, 0);
    const early = index.rankNow('porcupines', { k: 5, among: (id) => id === 'beta' });
    expect(early).toMatchObject({ ranked: [{ id: 'beta', why: ['porcupines'] }], ready: false, by: 'cache' });
    load();
    await index.settled();
    expect(index.rankNow('porcupines', { k: 5 })).toMatchObject({ ready: true, by: 'lexical' });
    await index.close();
    await registry.close();
  });

  it('R3 a file that has few of the skills does not answer: what names and descriptions say is waited for', async () => {
    const box = await skillSandbox(skill('alpha', 'Grows porcupines.\n'));
    await (await open(box)).close();
    for (const at of [1, 2, 3, 4]) await box.write(`sandbox/skills/zebra-${at}/SKILL.md`, skillText({ name: `zebra-${at}`, body: 'x\n' }));
    const registry = box.registry({ clock: settled, keepsBodies: false });
    registry.studyBody = () => new Promise(() => {}); // never read
    const index = openIndex(commandContext(box), registry);
    await index.prepare(await registry.refresh(), 0);
    expect(index.rankNow('zebra 3', { k: 1 })).toMatchObject({ ranked: [{ id: 'zebra-3' }], ready: false, by: 'lexical' });
    await registry.close();
  });

  it('R3 more skills than the limit: bodies are searched from the file, also those that come later', async () => {
    const box = await skillSandbox(
      Object.assign({}, ...Array.from({ length: 30 }, (_, at) => skill(`animal-${at}`, `Feeds badgers and beast${at} at night.\n`))),
    );
    for (const read of [30, 0]) {
      const registry = box.registry({ clock: settled, keepsBodies: false });
      let count = 0;
      const study = registry.studyBody.bind(registry);
      registry.studyBody = (one) => (count++, study(one));
      const index = openIndex(commandContext(box), registry, null, 20);
      await index.sync(await registry.refresh());
      await index.settled();
      expect(count).toBe(read);
      const find = async (query: string) => (await index.rank(registry.current(), query, { k: 3, patienceMs: 0 })).ranked;
      expect((await find('badgers beast17'))[0]).toMatchObject({ id: 'animal-17', why: ['badgers', 'beast17'] });
      await index.close();
      await registry.close();
    }
    expect(warnings(box)).toEqual([]);
  });

  it('R3 the file may go while it is in use: search goes on, and the next start reads again', async () => {
    const box = await skillSandbox(skill('alpha', 'Grows porcupines.\n'));
    const first = await open(box);
    await rm(file(box));
    await box.write('sandbox/skills/beta/SKILL.md', skillText({ name: 'beta', body: 'Feeds badgers.\n' }));
    await first.refresh();
    expect([await first.find('porcupines'), await first.find('badgers')]).toEqual([['alpha'], ['beta']]);
    await first.close();
    expect(warnings(box)).toEqual([expect.stringContaining('it was removed while it was in use')]);
    const second = await open(box);
    expect(second.read.sort()).toEqual(['alpha', 'beta']);
    await second.close();
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

/** A bit of the one record turned over. */
function wrongRecord(bytes: Buffer): Buffer {
  const at = bytes.indexOf('["alpha"');
  bytes[at + 2]! ^= 4;
  return bytes;
}
