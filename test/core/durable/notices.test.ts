import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fakeClock, scriptedModel, type TestKernel, testKernel } from 'pith/testing';
import { expect, it } from 'vitest';
import { until } from '../../waiting.ts';

const DAY = 86_400_000;
const CHANNEL = `import { appendFileSync, existsSync } from 'node:fs';
export default class {
  kinds = ['pigeon'];
  contextPriority = 50;
  constructor(context) { this.context = context; }
  async getContext() { return null; }
  async deliver({ text, kind }, target) {
    if (!existsSync(this.context.dataDirectory + '/open')) throw new Error('the loft is closed');
    appendFileSync(this.context.dataDirectory + '/sent', kind + ' ' + target + ' ' + text + '\\n');
    return 'ref';
  }
}
`;

const FILES = {
  'agents/main/manifest.yaml': 'id: main\nagent: {}\n',
  'pith.yaml': 'default_agent: main\n',
  'extensions/loft/manifest.yaml': 'id: loft\nentrypoint: main.ts\nprovides: [channel, context]\nisolation: in_process\n',
  'extensions/loft/main.ts': CHANNEL,
};

/** What the channel of `FILES` sent, and its door. */
function loft(sandbox: string): { sent(): readonly string[]; open(): void } {
  const folder = `${sandbox}/data/extensions/loft`;
  return {
    sent: () => (existsSync(`${folder}/sent`) ? readFileSync(`${folder}/sent`, 'utf8').trim().split('\n') : []),
    open() {
      mkdirSync(folder, { recursive: true });
      writeFileSync(`${folder}/open`, '');
    },
  };
}

it('K31 notices wait until a channel opens; then it is said how many came, those of the last day are shown once, and none twice', async () => {
  const clock = fakeClock();
  await using pith = await testKernel({ clock, only: [], model: scriptedModel([]), files: FILES });
  const { sent, open } = loft(pith.sandbox);
  const notify = (text: string, target: string | null = null, at?: number) =>
    pith.kernel.events.publish(
      'notify',
      { v: 1, text, kind: 'news', target, threadId: null, userId: null },
      at === undefined ? {} : { at },
    );
  const { kernel } = pith;
  await notify('stale');
  await clock.advance(2 * DAY);
  await kernel.start();
  await kernel.host.extensions.activate('loft');
  await notify('first');
  await notify('second', 'pigeon');
  await clock.advance(20_000);
  expect(sent()).toEqual([]);
  open();
  kernel.events.publish('channel.opened', { extensionId: 'loft' });
  for (let round = 0; round < 10; round++) await clock.advance(1000);
  await until(() => expect(sent()).toHaveLength(3));
  expect(sent()).toEqual([
    'notices pigeon 2 notices came while nobody was here; 1 older than a day is left out',
    'news pigeon first',
    'news pigeon second',
  ]);
});

/** As the channel of `FILES`, which hears what is out of date; another that does not, and reaches nobody. */
const SETTLES = {
  ...FILES,
  'extensions/loft/main.ts': CHANNEL.replace(
    '  async deliver',
    "  async settle({ kind, id }) { appendFileSync(this.context.dataDirectory + '/sent', 'settled ' + kind + ' ' + id + '\\n'); }\n  async deliver",
  ),
  'extensions/deaf/manifest.yaml': 'id: deaf\nentrypoint: main.ts\nprovides: [channel]\nisolation: in_process\n',
  'extensions/deaf/main.ts': "export default class { kinds = ['deaf']; async deliver() { throw new Error('nobody is there'); } }",
};

function jobNotices({ events }: TestKernel['kernel']) {
  const notice = (id: string) => ({ kind: 'news', about: { kind: 'job', id }, target: null, threadId: null, userId: null });
  return {
    notify: (id: string) => events.publish('notify', { v: 1, text: id, ...notice(id) }),
    settled: (id: string) => events.publish('notice.settled', { v: 1, about: { kind: 'job', id } }),
  };
}

it('K31 what is out of date before a channel opens is not told, and channels that show notices hear what is', async () => {
  const clock = fakeClock();
  await using pith = await testKernel({ clock, only: [], model: scriptedModel([]), files: SETTLES });
  const { sent, open } = loft(pith.sandbox);
  const { events, host } = pith.kernel;
  const { notify, settled } = jobNotices(pith.kernel);
  await pith.kernel.start();
  for (const id of ['loft', 'deaf']) await host.extensions.activate(id);
  await notify('old');
  await notify('new');
  await settled('old');
  open();
  events.publish('channel.opened', { extensionId: 'loft' });
  for (let round = 0; round < 10; round++) await clock.advance(1000);
  await until(() => expect(sent()).toContain('settled job old'));
  await settled('new');
  await until(() => expect(sent().at(-1)).toBe('settled job new'));
  await notify('new');
  await until(() => expect(sent().at(-1)).toBe('news pigeon new'));
  expect(sent()).toEqual(['news pigeon new', 'settled job old', 'settled job new', 'news pigeon new']);
  expect(pith.kernel.findings()).toEqual([]);
});

it('K31 channels hear what is out of date however long ago that was, and the count leaves out what is', async () => {
  const clock = fakeClock();
  await using pith = await testKernel({ clock, only: [], model: scriptedModel([]), files: SETTLES });
  const { sent, open } = loft(pith.sandbox);
  const { kernel } = pith;
  const { notify, settled } = jobNotices(kernel);
  await notify('stale');
  await notify('early');
  await settled('early');
  await clock.advance(25 * 3_600_000);
  await notify('again');
  await settled('again');
  await notify('again');
  await notify('open');
  await notify('closed');
  await settled('closed');
  await clock.advance(1000);
  open();
  await kernel.start();
  await kernel.host.extensions.activate('loft');
  kernel.events.publish('channel.opened', { extensionId: 'loft' });
  for (let round = 0; round < 10; round++) await clock.advance(1000);
  await until(() => expect(sent().at(-1)).toBe('settled job closed'));
  expect(sent()).toEqual([
    'notices pigeon 2 notices came while nobody was here; 1 older than a day is left out',
    'settled job early',
    'settled job again',
    'news pigeon again',
    'news pigeon open',
    'settled job closed',
  ]);
});

const GATED = `import { defineTool, z } from 'pith';
export default class {
  getTools() { return [defineTool({ name: 'wipe', description: 'd', input: z.object({}), needsApproval: true, execute: () => 'wiped' })]; }
}
`;

const GATES = {
  'agents/main/manifest.yaml': 'id: main\nagent: { uses_tools: [gated] }\n',
  'extensions/gated/manifest.yaml': 'id: gated\nentrypoint: main.ts\nprovides: [tool]\n',
  'extensions/gated/main.ts': GATED,
};

it('K50 U13 a question is shown by channels while it is open and nobody is about to answer it, and not afterwards', async () => {
  const clock = fakeClock();
  const model = scriptedModel([
    { calls: [{ name: 'wipe', input: {} }] },
    { calls: [{ name: 'wipe', input: { again: true } }] },
    { calls: [{ name: 'wipe', input: { more: true } }] },
  ]);
  await using pith = await testKernel({ clock, only: [], model, files: { ...FILES, ...GATES } });
  const { sent, open } = loft(pith.sandbox);
  const { kernel } = pith;
  open();
  await kernel.start();
  await kernel.host.extensions.activate('loft');
  kernel.events.publish('channel.opened', { extensionId: 'loft' });
  const seconds = async (count: number): Promise<void> => {
    for (let second = 0; second < count; second++) await clock.advance(1000);
  };
  expect((await pith.run('wipe', { threadId: 'answered' })).reason).toBe('awaiting_approval');
  const [first] = await kernel.approvals.list();
  await kernel.approvals.answer(first!.id, { answer: 'no', by: 'tester' });
  await seconds(10);
  expect(sent()).toEqual([]);

  await pith.run('wipe', { threadId: 'attended' });
  const [second] = await kernel.approvals.list();
  const stop = new AbortController();
  const attending = kernel.approvals.waitFor(second!, stop.signal).catch(() => undefined);
  await until(async () => expect(await kernel.approvals.isAwaited('attended')).toBe(true));
  await seconds(10);
  expect(sent()).toEqual([]);
  stop.abort(); // whoever was there has left without an answer
  await attending;
  await seconds(10);
  const lines = (number: number, given: string) => [
    `approval pigeon Question ${number}: run wipe of gated`,
    'asked by main',
    given,
    'not sandboxed: sees what you see',
    `Answer: pith approvals ${number}, pith approvals approve ${number} or pith approvals reject ${number}`,
  ];
  await until(() => expect(sent()).toEqual(lines(2, 'again: true')));

  await pith.run('wipe', { threadId: 'nobody' });
  await seconds(10);
  await until(() => expect(sent()).toEqual([...lines(2, 'again: true'), ...lines(3, 'more: true')]));
});

it('K31 two processes show each notice once, whoever published it', async () => {
  await using one = await testKernel({ only: [], model: scriptedModel([]), files: FILES });
  const { sent, open } = loft(one.sandbox);
  open();
  await using two = await testKernel({ only: [], model: scriptedModel([]), sandbox: one.sandbox });
  const kernels = [one.kernel, two.kernel];
  for (const kernel of kernels) {
    await kernel.start();
    await kernel.host.extensions.activate('loft');
    kernel.events.publish('channel.opened', { extensionId: 'loft' });
  }
  const texts = Array.from({ length: 40 }, (_, index) => `n${index}`);
  await Promise.all(
    texts.map((text, index) =>
      kernels[index % 2]!.events.publish('notify', { v: 1, text, kind: 'news', target: null, threadId: null, userId: null }),
    ),
  );
  await until(() => expect(sent().length).toBeGreaterThanOrEqual(40));
  for (const kernel of kernels) await kernel.stop();
  expect([...sent()].sort()).toEqual(texts.map((text) => `news pigeon ${text}`).sort());
});
