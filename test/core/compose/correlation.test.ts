import { readFileSync } from 'node:fs';
import path from 'node:path';
import { recordEvents, scriptedModel, testKernel } from 'pith/testing';
import { expect, it } from 'vitest';
import { until } from '../../waiting.ts';

const MINE = `import { defineTool, z } from 'pith';
export default class {
  constructor(context) { this.context = context; }
  getTools() {
    return [defineTool({ name: 'act', description: 'd', input: z.object({}), execute: async () => {
      await Promise.resolve();
      this.context.logger.info('acting');
      await this.context.events.publish('notify', { v: 1, text: 'acted', kind: 'news', target: null, threadId: null, userId: null });
      throw new Error('no luck');
    } })];
  }
  async told(payload, delivery) {
    if (delivery.attempt === 1) throw new Error('not yet');
    this.context.logger.info('told ' + delivery.correlationId);
    for await (const event of this.context.agents.run({ agent: 'main', threadId: 'mine:later', input: 'and then?' })) void event;
  }
}
`;

const FILES = {
  'agents/main/manifest.yaml': 'id: main\nagent: { uses_tools: [mine] }\n',
  'pith.yaml': 'default_agent: main\n',
  'extensions/mine/manifest.yaml': JSON.stringify({
    id: 'mine',
    entrypoint: 'main.ts',
    provides: ['tool'],
    events: { publishes: ['notify'], handles: [{ topic: 'notify', handler: 'told' }] },
  }),
  'extensions/mine/main.ts': MINE,
};

it.each(['in_process', 'process'] as const)(
  'K31 K32 one id from the message to tool, event, delivery, log lines and the turn that a handler runs, in the tier %s',
  async (isolation) => {
    const model = scriptedModel([{ calls: [{ name: 'act', input: {} }] }, { text: 'done' }, { text: 'later' }]);
    await using pith = await testKernel({ isolation, only: [], model, files: FILES });
    const record = recordEvents(pith.kernel.events);
    await pith.kernel.start();
    await pith.run('go');
    await until(() => expect(record.of('turn.ended').map(({ threadId }) => threadId)).toEqual(['test', 'mine:later']));
    const id = record.of('turn.started')[0]?.correlationId;
    expect(record.of('turn.started').map(({ correlationId }) => correlationId)).toEqual([id, id]);
    expect(record.of('tool.called').map(({ correlationId }) => correlationId)).toEqual([id]);
    const file = path.join(pith.sandbox, 'data', 'logs', 'pith.log');
    await pith.kernel.stop();
    const lines = readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { msg: string; correlationId?: string });
    const carried = (text: string) => lines.filter(({ msg }) => msg.startsWith(text)).map(({ correlationId }) => correlationId);
    expect(carried('acting')).toEqual([id]);
    expect(carried('mine failed in tool call')).toEqual([id]);
    expect(carried('mine failed in background')).toEqual([id]);
    expect(carried('a delivery failed and is tried again')).toEqual([id]);
    expect(carried(`told ${id}`)).toEqual([id]);
  },
);
