import { PithError, type Events, type Logger, type Remote, type TopicMap } from 'pith';
import type { RankerDocument, RankerOptions, RankerProvider } from 'pith/skill_registry';
import { fakeClock } from 'pith/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { RankerFeed } from '../../../sandbox/extensions/skill_registry/search/ranker-feed.ts';
import { bySharedWords } from '../../../sandbox/extensions/skill_registry/search/skill-search.ts';
import { skillSandbox, skillText } from './skill-sandbox.ts';
import { skillOf, snapshotOf } from './skill-values.ts';

/** A ranker whose answer each test says. */
function ranker(
  answer: (query: string) => unknown,
  readBody = async ({ id }: { readonly id: string }): Promise<string | null> => `BODY OF ${id}`,
  recall?: RankerProvider['recall'],
) {
  const documents = new Map<string, RankerDocument>();
  const clock = fakeClock();
  const lines: string[] = [];
  const note = (message: string) => void lines.push(message);
  const logger: Logger = { debug: note, info: note, warn: note, error: note };
  let upserts = 0;
  const asked: { readonly options: RankerOptions; readonly signal: AbortSignal | undefined }[] = [];
  const remote = {
    extensionId: 'mine',
    recall,
    upsert: async (given: readonly RankerDocument[]) => {
      upserts += given.length;
      for (const one of given) documents.set(one.id, one);
    },
    remove: async (ids: readonly string[]) => ids.forEach((id) => documents.delete(id)),
    rank: async (query: string, options: RankerOptions, signal?: AbortSignal) => {
      asked.push({ options, signal });
      return answer(query);
    },
  } as unknown as Remote<RankerProvider>;
  let there = true;
  const listeners = new Map<string, (payload: { readonly extensionId: string }) => void>();
  const handle = (topic: string, listener: never) => (listeners.set(topic, listener), () => {});
  const events = { handle } as unknown as Pick<Events, 'handle'>;
  let known = 0;
  const feed = new RankerFeed({
    id: 'mine',
    find: () => (there ? remote : null),
    readBody,
    onKnown: async () => void known++,
    events,
    clock,
    logger,
  });
  onTestFinished(() => feed.close());
  const happens = (topic: keyof TopicMap) => listeners.get(topic)!({ extensionId: 'mine' });
  return { feed, asked, documents, clock, lines, happens, known: () => known, upserts: () => upserts, leave: () => (there = false) };
}

const SKILLS = ['alpha', 'beta', 'gamma'].map((id) => skillOf(id));
const good = (id: string) => ({ id, score: 1, why: ['because'] });

/** A ranker that knows these skills. */
async function knowing(answer: (query: string) => unknown, skills = SKILLS) {
  const made = ranker(answer);
  made.feed.follow(snapshotOf(skills));
  await made.feed.settled();
  return made;
}

describe('R1 the ranker that the settings name', () => {
  it('S21 R3 is told of all skills in the background, then of what changed, and asked only when it knows them', async () => {
    const { feed, documents, happens, upserts } = ranker(() => [good('beta')]);
    const first = snapshotOf(SKILLS);
    expect(await feed.rank('x', { k: 5 }, 250)).toBe('failed');
    feed.follow(first);
    expect(await feed.rank('x', { k: 5 }, 250)).toBe('indexing');
    await feed.settled();
    expect([...documents.keys()]).toEqual(['alpha', 'beta', 'gamma']);
    expect(documents.get('beta')).toMatchObject({ id: 'beta', body: 'BODY OF beta' });
    expect(await feed.rank('x', { k: 5 }, 250)).toEqual([good('beta')]);
    feed.follow(snapshotOf([SKILLS[0]!, { ...SKILLS[1]!, stamp: '1 1 77 1' }]));
    await feed.settled();
    expect([...documents.keys()]).toEqual(['alpha', 'beta']);
    expect(upserts()).toBe(4);
    happens('extension.stopped');
    expect(await feed.rank('x', { k: 5 }, 250)).toBe('failed');
    happens('extension.activated');
    expect(await feed.rank('x', { k: 5 }, 250)).toBe('indexing');
    await feed.settled();
    expect(upserts()).toBe(6);
  });

  it.each([
    ['no list', () => 'everything', null],
    ['a score that is no number', () => [{ ...good('alpha'), score: Number.NaN }], null],
    ['a reason that is no list', () => [{ ...good('alpha'), why: 'so' }], null],
    ['a hole', () => [null], null],
    ['ids that nobody has, and twice the same', () => [good('nobody'), good('alpha'), good('alpha')], ['alpha']],
    ['an id that the agent may not see', () => [good('gamma'), good('beta')], ['beta']],
    ['nothing', () => [], []],
    ['an error', () => Promise.reject(new PithError('provider_failed', 'it broke')), null],
  ])('that answers %s harms nobody, and is named once', async (_name, answer, expected) => {
    const { feed, lines } = await knowing(answer);
    for (let time = 0; time < 3; time++) {
      const found = await feed.rank('x', { k: 5, among: (id) => id !== 'gamma' }, 250);
      expect(typeof found === 'string' ? found : found.map(({ id }) => id)).toEqual(expected ?? 'failed');
    }
    expect(lines.filter((line) => line.includes("the ranker 'mine'"))).toHaveLength(expected === null ? 1 : 0);
  });

  it('that hangs is waited for once, as long as the asker has patience', async () => {
    let release = (): void => {};
    const answer = () => new Promise((resolve) => (release = () => resolve([good('alpha')])));
    const { feed, asked: calls, clock, lines } = await knowing(answer);
    const asked = feed.rank('x', { k: 5 }, 250);
    await clock.advance(250);
    expect(await asked).toBe('failed');
    expect(calls[0]!.signal?.aborted).toBe(true); // nobody wants its answer
    expect(await feed.rank('y', { k: 5 }, 250)).toBe('failed'); // at once: no time has passed
    expect(lines).toEqual([expect.stringContaining('took longer than 250 ms')]);
    release();
    await clock.advance(0);
    const again = feed.rank('y', { k: 5 }, 250);
    await clock.advance(0);
    release();
    expect(await again).toEqual([good('alpha')]);
  });

  it('is asked for a few more where few are hidden, and is told who may be seen only where many are', async () => {
    const many = Array.from({ length: 300 }, (_, at) => skillOf(`s-${at}`));
    const { feed, asked } = await knowing(() => [good('s-0'), good('s-299')], many);
    const scope = (hidden: number) => (id: string) => Number(id.slice(2)) >= hidden;
    expect(await feed.rank('a', { k: 5, among: scope(2) }, 250)).toEqual([good('s-299')]);
    expect(asked.at(-1)!.options).toEqual({ k: 7 });
    expect(await feed.rank('d', { k: 5, among: scope(298) }, 250)).toEqual([good('s-299')]);
    expect(asked.at(-1)!.options).toEqual({ k: 5, among: ['s-298', 's-299'] });
  });

  it('that is gone leaves the search to shared words', async () => {
    const { feed, leave } = await knowing(() => [good('alpha')]);
    leave();
    expect(await feed.rank('x', { k: 5 }, 250)).toBe('absent');
  });

  it.each([
    [249, [good('alpha')]],
    [251, 'failed'],
  ])('is waited for by a turn, and answers after %i ms', async (ms, expected) => {
    const { feed, clock } = await knowing(() => clock.sleep(ms).then(() => [good('alpha')]));
    const asked = feed.rank('x', { k: 5 }, 250);
    for (let at = 0; at < ms; at++) await clock.advance(1);
    expect(await asked).toEqual(expected);
  });

  it('R3 S21 is told what is known of a skill whose body cannot be read, which is read again, with one line in the log', async () => {
    let body: string | null = null;
    const { feed, documents, lines, known } = ranker(
      () => [],
      async () => body ?? Promise.reject(new Error('EMFILE')),
    );
    const snapshot = snapshotOf([skillOf('alpha')]);
    for (let time = 0; time < 2; time++) {
      feed.follow(snapshot);
      await feed.settled();
    }
    expect(documents.get('alpha')).toMatchObject({ id: 'alpha', body: '' });
    expect(lines).toEqual(["skill 'alpha': its body is not searched: EMFILE"]);
    body = 'Grows porcupines.';
    feed.follow(snapshot);
    await feed.settled();
    expect(documents.get('alpha')).toMatchObject({ body: 'Grows porcupines.' });
    expect(known()).toBe(3);
    feed.follow(snapshot);
    expect(feed.isBehind).toBe(false);
  });

  it('R3 is not sent what it recalls, of which no body is read, and is asked at once where that is most', async () => {
    const bodies: string[] = [];
    let goOn = (): void => {};
    const waits = new Promise<void>((resolve) => (goOn = resolve));
    const { feed, documents } = ranker(
      () => [good('alpha')],
      async ({ id }) => (bodies.push(id), waits.then(() => 'x')),
      async (versions) => versions.filter(({ id }) => id !== 'gamma').map(({ id }) => id),
    );
    feed.follow(snapshotOf(SKILLS));
    await expect.poll(() => bodies).toEqual(['gamma']);
    expect(await feed.rank('x', { k: 5 }, 250)).toEqual([good('alpha')]);
    expect(feed.isBehind).toBe(true); // more may match in a moment
    goOn();
    await feed.settled();
    expect([...documents.keys()]).toEqual(['gamma']);
  });

  it('S21 R3 goes on being asked while it is told of a change, and may be closed in the middle', async () => {
    let goOn = (): void => {};
    let waits: Promise<void> = Promise.resolve();
    const { feed } = ranker(
      () => [good('alpha')],
      async () => waits.then(() => 'x'),
    );
    feed.follow(snapshotOf(SKILLS));
    await feed.settled();
    waits = new Promise((resolve) => (goOn = resolve));
    feed.follow(snapshotOf([{ ...SKILLS[0]!, stamp: '1 1 77 1' }]));
    expect(await feed.rank('x', { k: 5 }, 250)).toEqual([good('alpha')]);
    expect(feed.isBehind).toBe(true);
    const closed = feed.close();
    goOn();
    await closed;
    expect(feed.isBehind).toBe(false);
  });
});

it('R1 R3 without an answer words of ids, names and tags decide, for who may see what they find', () => {
  const skills = [skillOf('alpha-notes'), skillOf('beta', { tags: ['taking notes'] }), skillOf('gamma')];
  const found = bySharedWords(skills, 'note of an alpha', { k: 5 });
  expect(found.map(({ id, why }) => [id, why])).toEqual([
    ['alpha-notes', ['note', 'alpha']],
    ['beta', ['note']],
  ]);
  expect(bySharedWords(skills, 'notes', { k: 5, among: (id) => id === 'beta' }).map(({ id }) => id)).toEqual(['beta']);
  expect(bySharedWords(skills, 'notes', { k: 1 })).toHaveLength(1);
});

it('S21 the tokens of a body are counted when it is first read', async () => {
  const body = `${'internationalisation '.repeat(50)}\n`;
  const box = await skillSandbox({ 'sandbox/skills/alpha/SKILL.md': skillText({ name: 'alpha', body }) });
  const registry = box.registry();
  const estimated = (await registry.refresh()).skills.get('alpha')!;
  expect(estimated.tokensEstimated).toBe(true);
  expect(await registry.studyBody(estimated)).toBe(body);
  await registry.publishTokens();
  const counted = registry.current().skills.get('alpha')!;
  expect(counted.tokensEstimated).toBe(false);
  expect(counted.tokens).not.toBe(estimated.tokens);
  await registry.close();
});
