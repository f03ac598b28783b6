import { scriptedModel } from 'pith/testing';
import { expect, it } from 'vitest';
import { collectSpans } from '../../span-collector.ts';
import { until } from '../../waiting.ts';
import { inProcesses, manifest } from './extension.ts';

const FIELDS = {
  provides: ['tool'],
  permissions: { agents: ['child'] },
  jobs: [{ name: 'later' }],
  defines: { topics: { 'mine.said': { durable: true } } },
  events: { publishes: ['mine.said'], handles: [{ topic: 'mine.said', handler: 'hear' }] },
};
/** Its tools run an agent, add a job that publishes an event, and publish one themselves. */
const MAIN = `
export default class {
  constructor(context) {
    this.context = context;
    context.jobs.define('later', () => this.say());
  }
  async hear() {}
  say() { return this.context.events.publish(defineTopic('mine.said', { durable: true }), { v: 1 }); }
  getTools() {
    const { jobs } = this.context;
    const tool = (name, execute) => defineTool({ name, description: 'd', input: z.object({}), execute });
    return [
      tool('ask', (_, { turn }) => this.ask(turn)),
      tool('add', async () => (await work(() => jobs.add('later', null))).added),
      tool('say', () => this.say()),
    ];
  }
  async ask(turn) {
    const request = { agent: 'child', threadId: turn.threadId + '/below', input: 'go', parent: turn };
    for await (const event of this.context.agents.run(request)) if (event.type === 'turn-end') return event.reason;
  }
}`;

/** The spans after the model has called this tool, once `last` has ended. */
async function spansOf(tool: string, last: string, head = 'const work = (act) => act();'): Promise<ReturnType<typeof collectSpans>> {
  const spans = collectSpans();
  const answer = { text: 'done' };
  const model = scriptedModel([{ calls: [{ name: tool, input: {} }] }, answer, ...(tool === 'ask' ? [answer] : [])]);
  const files = {
    ...manifest('mine', FIELDS),
    'extensions/mine/main.ts': `import { defineTool, defineTopic, z } from 'pith';\n${head}\n${MAIN}`,
    'agents/child/manifest.yaml': 'id: child\nagent: { instructions: x }\n',
  };
  const pith = await inProcesses({ model, files });
  await pith.kernel.start();
  const { results } = await pith.run('go', { agent: 'asker' });
  expect(results.map((result) => (result.ok ? null : result.error))).toEqual([null]);
  await until(() => spans.some(({ name, ended }) => name === last && ended));
  return spans;
}

it.each([
  ['ask', [['invoke_agent child', 'execute_tool ask']]],
  ['say', [['process mine.said', 'execute_tool say']]],
  [
    'add',
    [
      ['process mine.later', 'execute_tool add'],
      ['process mine.said', 'process mine.later'],
    ],
  ],
] as const)('U51 what a process asks of the kernel is in the trace of the call that it serves: %s', async (tool, below) => {
  const spans = await spansOf(tool, below.at(-1)?.[0] ?? '');
  expect(spans.map(({ name, parent }) => [name, parent])).toEqual(expect.arrayContaining([...below]));
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
});

/** The tracing that an extension brings, as far as it is its own: what keeps the current span, and a span below that. */
const OWN_TRACING = `
import { AsyncLocalStorage } from 'node:async_hooks';
import { context, ROOT_CONTEXT, trace } from '@opentelemetry/api';
const active = new AsyncLocalStorage();
context.setGlobalContextManager({
  active: () => active.getStore() ?? ROOT_CONTEXT,
  with: (value, run, self, ...values) => active.run(value, () => run.apply(self, values)),
  bind: (_, target) => target,
  enable: () => undefined,
  disable: () => undefined,
});
const work = (act) => {
  const own = { ...trace.getSpanContext(context.active()), spanId: 'beefbeefbeefbeef' };
  return context.with(trace.setSpanContext(context.active(), own), act);
};`;

it('U51 the tracing that an extension brings goes on from the call, and its spans are above what it asks for', async () => {
  const spans = await spansOf('add', 'process mine.said', OWN_TRACING);
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
  expect(spans.find(({ name }) => name === 'process mine.later')?.parentId).toBe('beefbeefbeefbeef');
});
