import { scriptedModel, testKernel } from 'pith/testing';
import { expect, it } from 'vitest';
import { checkSpan, collectSpans } from '../../span-collector.ts';
import { until } from '../../waiting.ts';

const FILES = {
  'agents/main/manifest.yaml': 'id: main\nagent: { uses_tools: [mine] }\n',
  'pith.yaml': 'default_agent: main\n',
  'extensions/mine/manifest.yaml': JSON.stringify({
    id: 'mine',
    entrypoint: 'main.ts',
    provides: ['tool'],
    events: { handles: [{ topic: 'user.message', handler: 'hear' }] },
  }),
  'extensions/mine/main.ts': `import { defineTool, toolError, z } from 'pith';
export default class {
  getTools() { return [defineTool({ name: 'act', description: 'd', input: z.object({}), execute: () => toolError('no_luck', 'not today') })]; }
  async hear() {}
}
`,
};

it('K32 turns, model steps, tool calls and deliveries are spans with the correlation id', async () => {
  const spans = collectSpans();
  const usage = { inputTokens: 11, outputTokens: 7 };
  const model = scriptedModel([
    { calls: [{ name: 'act', input: {} }], usage },
    { text: 'done', usage },
  ]);
  await using pith = await testKernel({ only: [], model, files: FILES });
  const ids: string[] = [];
  pith.kernel.events.handle('turn.started', ({ correlationId }) => void ids.push(correlationId));
  await pith.kernel.start();
  await pith.run('go');
  await until(() => expect(spans.filter(({ ended }) => ended)).toHaveLength(5));
  const turn = 'invoke_agent main';
  const [chat = ''] = spans.filter(({ name }) => name.startsWith('chat ')).map(({ name }) => name);
  expect(spans.map(({ name, parent }) => [name, parent])).toEqual(
    expect.arrayContaining([
      [turn, null],
      [chat, turn],
      ['execute_tool act', turn],
      ['process user.message', turn],
    ]),
  );
  expect(new Set(spans.map(({ attributes }) => attributes['pith.correlation_id']))).toEqual(new Set(ids));
  for (const span of spans) checkSpan(span);
  const of = (name: string) => spans.find((span) => span.name === name);
  expect(of(chat)?.attributes).toMatchObject({
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'scripted',
    'gen_ai.request.model': chat.slice('chat '.length),
    'gen_ai.response.finish_reasons': ['tool-calls'],
    'gen_ai.usage.input_tokens': 11,
    'gen_ai.usage.output_tokens': 7,
  });
  expect(of('execute_tool act')?.attributes).toMatchObject({
    'gen_ai.tool.name': 'act',
    'gen_ai.tool.type': 'function',
    'pith.extension': 'mine',
    'error.type': 'no_luck',
  });
  expect(of(turn)?.attributes).toMatchObject({ 'pith.turn.reason': 'done', 'gen_ai.usage.input_tokens': 22 });
  expect(of('process user.message')?.attributes).toMatchObject({ 'pith.handler': 'mine/hear', 'pith.attempt': 1 });
});
