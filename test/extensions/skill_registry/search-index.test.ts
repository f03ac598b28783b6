import { appendFile, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { CountedFile } from '../../../sandbox/extensions/skill_registry/search/counted-file.ts';
import { NOTHING_LEARNED, type Learned } from '../../../sandbox/extensions/skill_registry/search/learned-examples.ts';
import { SkillIndex } from '../../../sandbox/extensions/skill_registry/search/skill-index.ts';
import { systemClock } from '@pith/promises';
import { logTo, skillSandbox, skillText, type SkillSandbox } from './skill-sandbox.ts';

/** A time so far from the files' that all of them count as settled. */
const clock = { ...systemClock, now: () => 0 };

/** One process: registry and index over the same data folder; bodies are read once `mayRead` resolves. */
function open(box: SkillSandbox, mayRead: Promise<void> = Promise.resolve(), learned: Learned = NOTHING_LEARNED) {
  const registry = box.registry({ clock, keepsBodies: false });
  const read: string[] = [];
  const study = registry.studyBody.bind(registry);
  registry.studyBody = async (skill) => {
    await mayRead;
    read.push(skill.id);
    return study(skill);
  };
  const index = new SkillIndex({
    registry,
    learned,
    file: new CountedFile({ dataDirectory: dataOf(box), logger: logTo(box.log) }),
    clock,
    logger: logTo(box.log),
  });
  return {
    registry,
    index,
    /** Ids whose bodies were read. */
    read,
    find: (query: string) => index.rank(query, { k: 10 }).ranked.map(({ id }) => id),
    /** Takes over what changed. */
    async refresh() {
      index.sync(await registry.refresh());
      await index.settled();
    },
    async close() {
      await index.close();
      await registry.close();
    },
  };
}

const dataOf = (box: SkillSandbox) => path.join(box.sandbox, 'data/extensions/skill_registry');
const countedOf = (box: SkillSandbox) => path.join(dataOf(box), 'counted.jsonl');
const skill = (name: string, body: string, more = '') => ({ [`sandbox/skills/${name}/SKILL.md`]: skillText({ name, body, more }) });
const warnings = (box: SkillSandbox) => box.log.filter((line) => line.startsWith('warn'));

describe('the search index', () => {
  it('S21 R2 R3 reads each body once, then only what changed, and forgets what went', async () => {
    const box = await skillSandbox({
      ...skill('alpha', 'Grows porcupines.\n'),
      ...skill('beta', 'Feeds badgers.\n'),
      ...skill('gamma', 'Counts owls.\n'),
    });
    const { read, find, refresh, close } = open(box);
    await refresh();
    expect(read.splice(0).sort()).toEqual(['alpha', 'beta', 'gamma']);
    expect([find('porcupines'), find('badgers'), find('owls')]).toEqual([['alpha'], ['beta'], ['gamma']]);
    await box.write('sandbox/skills/alpha/SKILL.md', skillText({ name: 'alpha', body: 'Grows hedgehogs.\n' }));
    await box.remove('sandbox/skills/beta');
    await refresh();
    expect(read).toEqual(['alpha']);
    expect([find('hedgehogs'), find('porcupines'), find('badgers'), find('owls')]).toEqual([['alpha'], [], [], ['gamma']]);
    await close();
    expect((await readdir(dataOf(box))).sort()).toEqual(['counted.jsonl', 'index']);
    expect(warnings(box)).toEqual([]);
  });

  it('R3 keeps what it counted for the next start, which reads what changed; counts again where that is damaged, old or gone', async () => {
    const names = Array.from({ length: 30 }, (_, at) => `skill-${at}`);
    const box = await skillSandbox(
      Object.assign({}, ...names.map((name) => skill(name, `Counts owls, ${name} of them, und für Ähren.\n`))),
    );
    const queries = ['owls', 'skill-7 owl', 'Ähren', 'counting'];
    const started = async () => {
      const { index, read, refresh, close } = open(box);
      await refresh();
      const found = queries.map((query) => index.rank(query, { k: 10 }));
      await close();
      return { read: read.length, found };
    };
    const first = await started();
    expect(first.read).toBe(30);
    expect(await started()).toEqual({ read: 0, found: first.found });
    await box.write('sandbox/skills/skill-3/SKILL.md', skillText({ name: 'skill-3', body: 'Feeds badgers.\n' }));
    const changed = await started();
    expect(changed.read).toBe(1);
    const whole = await readFile(countedOf(box), 'utf8');
    for (const damaged of [`${whole.slice(0, -9)}`, `${whole}{}\n`, `${whole}["x",[1],"",["owl"],[]]\n`, whole.replace(/^1/u, '0'), '']) {
      await writeFile(countedOf(box), damaged);
      expect((await started()).found, damaged.slice(-20)).toEqual(changed.found);
      expect(await started()).toEqual({ read: 0, found: changed.found });
    }
    await appendFile(countedOf(box), `${whole.split('\n')[1]!.replace(/^\["/u, '["former ')}\n`.repeat(600));
    expect(await started()).toEqual({ read: 0, found: changed.found });
    expect((await readFile(countedOf(box), 'utf8')).split('\n').length).toBeLessThan(40);
    expect(warnings(box)).toEqual([]);
  });

  it('R3 R5 keeps no texts of people with what it counted', async () => {
    const box = await skillSandbox({ ...skill('alpha', 'Grows porcupines.\n'), ...skill('beta', 'Feeds badgers.\n') });
    const learned: Learned = { of: (id) => (id === 'alpha' ? ['my pangolin is ill'] : []), look: async () => undefined };
    const { find, refresh, close } = open(box, Promise.resolve(), learned);
    await refresh();
    expect(find('pangolin')).toEqual(['alpha']);
    await close();
    const kept = await readFile(countedOf(box), 'utf8');
    expect(kept).toContain('badger');
    expect(kept).not.toMatch(/pangolin|porcupine/u);
  });

  it('R3 reads a body again that could not be read, and warns once', async () => {
    const box = await skillSandbox(skill('alpha', 'Grows porcupines.\n'));
    const { registry, find, refresh, close } = open(box);
    const study = registry.studyBody;
    registry.studyBody = () => Promise.reject(new Error('EMFILE'));
    await refresh();
    await refresh();
    expect([find('alpha'), find('porcupines')]).toEqual([['alpha'], []]);
    expect(warnings(box)).toEqual([expect.stringContaining('EMFILE')]);
    registry.studyBody = study;
    await refresh();
    expect(find('porcupines')).toEqual(['alpha']);
    await close();
  });

  it('R3 takes over a change that comes while an update ends', async () => {
    for (let ticks = 0; ticks < 8; ticks++) {
      const box = await skillSandbox(skill('alpha', 'Grows porcupines.\n'));
      const { registry, index, find, close } = open(box);
      index.sync(await registry.refresh());
      await index.settled();
      await box.write('sandbox/skills/beta/SKILL.md', skillText({ name: 'beta', body: 'Feeds badgers.\n' }));
      const next = await registry.refresh();
      registry.publishTokens = async () => {
        registry.publishTokens = async () => undefined;
        void (async () => {
          for (let tick = 0; tick < ticks; tick++) await Promise.resolve();
          index.sync(next);
        })();
      };
      index.sync(registry.current());
      await index.settled();
      await new Promise(setImmediate);
      await index.settled();
      expect(find('badgers'), `after ${ticks}`).toEqual(['beta']);
      await close();
    }
  });

  it('R1 R3 until it is built, words of ids, names and tags decide, for who may see what they find, and it says so', async () => {
    const box = await skillSandbox({
      ...skill('alpha-notes', 'Grows porcupines.\n'),
      ...skill('beta', 'Feeds alpha porcupines.\n', 'tags: [taking notes]\n'),
      ...skill('gamma', 'Hidden notes.\n'),
    });
    let read = () => {};
    const { registry, index, find, close } = open(box, new Promise((resolve) => (read = resolve)));
    expect(index.rank('alpha', { k: 5 })).toEqual({ ranked: [], ready: false, by: 'names' });
    index.sync(await registry.refresh());
    const early = index.rank('note of an alpha', { k: 5 });
    expect(early).toMatchObject({ ready: false, by: 'names' });
    expect(early.ranked.map(({ id, why }) => [id, why])).toEqual([
      ['alpha-notes', ['note', 'alpha']],
      ['beta', ['note']],
    ]);
    expect(index.rank('notes', { k: 5, among: (id) => id === 'beta' }).ranked.map(({ id }) => id)).toEqual(['beta']);
    expect(index.rank('notes', { k: 1 }).ranked).toHaveLength(1);
    read();
    await index.settled();
    expect(index.rank('porcupines', { k: 5 })).toMatchObject({ ready: true, by: 'lexical' });
    expect(find('alpha porcupines').sort()).toEqual(['alpha-notes', 'beta']);
    await close();
  });

  it('S21 goes on with what it has while a changed body is read, and says that there is more to come', async () => {
    const box = await skillSandbox({ ...skill('alpha', 'Grows porcupines.\n'), ...skill('beta', 'Feeds badgers.\n') });
    const { registry, index, refresh, close } = open(box);
    await refresh();
    await box.write('sandbox/skills/beta/SKILL.md', skillText({ name: 'beta', body: 'Feeds otters.\n' }));
    index.sync(await registry.refresh());
    expect(index.rank('porcupines', { k: 5 })).toMatchObject({ ranked: [{ id: 'alpha' }], ready: false, by: 'lexical' });
    await index.settled();
    expect(index.rank('otters', { k: 5 })).toMatchObject({ ranked: [{ id: 'beta' }], ready: true });
    await close();
  });

  it('S21 searches what is known of a skill whose body cannot be read', async () => {
    const box = await skillSandbox(skill('alpha', 'Grows porcupines.\n'));
    const { registry, index, find, close } = open(box, Promise.reject(new Error('EIO')));
    index.sync(await registry.refresh());
    await index.settled();
    expect([find('alpha'), find('porcupines')]).toEqual([['alpha'], []]);
    expect(warnings(box)).toEqual(["warn skill 'alpha': its body is not searched: EIO"]);
    await close();
  });

  it('R3 lets others work after each skill that it reads', async () => {
    const many = Array.from({ length: 60 }, (_, at) => skill(`s${at}`, `${'word '.repeat(200)}\n`));
    const box = await skillSandbox(Object.assign({}, ...many));
    const { read, refresh, close } = open(box);
    let [beats, running] = [0, true];
    const beat = () => {
      beats++;
      if (running) setImmediate(beat);
    };
    setImmediate(beat);
    await refresh();
    running = false;
    expect(read).toHaveLength(60);
    expect(beats).toBeGreaterThanOrEqual(60);
    await close();
  });

  it('R3 is closed in the middle of its work', async () => {
    const box = await skillSandbox({ ...skill('alpha', 'x\n'), ...skill('beta', 'x\n') });
    let goOn = () => {};
    const { registry, index, close } = open(box, new Promise((resolve) => (goOn = resolve)));
    index.sync(await registry.refresh());
    const closed = close();
    goOn();
    await closed;
    expect(index.rank('alpha', { k: 5 }).by).toBe('names');
  });

  it('S21 counts the tokens of a body when it is first read, and keeps the count for who reads none', async () => {
    const box = await skillSandbox({ ...skill('alpha', `${'internationalisation '.repeat(50)}\n`), ...skill('off', 'x\n') });
    const list = box.registry({ clock, keepsBodies: false, config: { disabled: ['off'] } });
    const estimated = (await list.refresh()).skills.get('alpha')!;
    expect(estimated.tokensEstimated).toBe(true);
    await list.close();
    const first = open(box);
    await first.refresh();
    const { tokens: exact } = first.registry.current().all[0]!;
    expect(exact).not.toBe(estimated.tokens);
    await first.close();
    const listed = (await box.registry({ clock, keepsBodies: false }).refresh()).skills.get('alpha')!;
    expect([listed.tokens, listed.tokensEstimated]).toEqual([exact, false]);
  });
});
