import { fakeClock, scriptedModel, testKernel } from 'pith/testing';
import { expect, it } from 'vitest';
import { until } from './world.ts';

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

it('K31 notices wait until a channel opens; then it is said how many came, those of the last day are shown once, and none twice', async () => {
  const { existsSync, readFileSync, mkdirSync, writeFileSync } = await import('node:fs');
  const clock = fakeClock();
  await using pith = await testKernel({
    clock,
    shipped: false,
    model: scriptedModel([]),
    files: {
      'agents/main/manifest.yaml': 'id: main\nagent: {}\n',
      'pith.yaml': 'default_agent: main\n',
      'extensions/loft/manifest.yaml': 'id: loft\nentrypoint: main.ts\nprovides: [channel, context]\nisolation: in_process\n',
      'extensions/loft/main.ts': CHANNEL,
    },
  });
  const folder = `${pith.sandbox}/data/loft`;
  const sent = () => (existsSync(`${folder}/sent`) ? readFileSync(`${folder}/sent`, 'utf8').trim().split('\n') : []);
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
  await kernel.extensions.activate('loft');
  await notify('first');
  await notify('second', 'pigeon');
  await clock.advance(20_000);
  expect(sent()).toEqual([]);
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${folder}/open`, '');
  kernel.events.publish('channel.opened', { extensionId: 'loft' });
  for (let round = 0; round < 10; round++) await clock.advance(1000);
  await until(() => expect(sent()).toHaveLength(3));
  expect(sent()).toEqual([
    'notices pigeon 2 notices came while nobody was here; 1 older than a day is left out',
    'news pigeon first',
    'news pigeon second',
  ]);
  await kernel.events.publish('approval.requested', {
    v: 1,
    approvalId: 'ap1',
    tool: 'file',
    agents: ['orchestrator', 'builder_agent'],
    threadId: 't',
    channelId: 'cli',
    userId: 'u',
  });
  await until(() => expect(sent()).toHaveLength(4));
  expect(sent()[3]).toBe(
    'approval pigeon orchestrator › builder_agent asks to run file; answer with: pith approvals approve ap1, or reject it',
  );
});
