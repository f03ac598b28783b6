import type { LanguageModel, ModelPart } from 'pith';
import { fakeClock, scriptedModel, testKernel, type ScriptedStep } from 'pith/testing';
import { expect, it } from 'vitest';
import { checkSpan, collectSpans } from '../../span-collector.ts';

const FILES = {
  'agents/main/manifest.yaml': 'id: main\nagent: { uses_tools: [mine], instructions: SYSTEM-TEXT }\n',
  'agents/child/manifest.yaml': 'id: child\nagent: {}\n',
  'pith.yaml': 'default_agent: main\n',
  'extensions/mine/manifest.yaml': JSON.stringify({
    id: 'mine',
    entrypoint: 'main.ts',
    provides: ['tool'],
    secrets: ['SPY_KEY'],
  }),
  'extensions/mine/main.ts': `import { defineTool, toolError, z } from 'pith';
export default class {
  constructor(context) { this.context = context; }
  getTools() {
    const run = async (input, call) => {
      let text = '';
      for await (const event of this.context.agents.run({ agent: 'child', threadId: call.turn.threadId + '/below', input, parent: call.turn }))
        if (event.type === 'turn-end') text = event.text;
      return text;
    };
    return [
      defineTool({ name: 'echo', description: 'd', input: z.object({ text: z.string() }), execute: ({ text }) => 'RESULT-TEXT ' + text }),
      defineTool({ name: 'fail', description: 'd', input: z.object({ text: z.string() }), execute: ({ text }) => toolError('no_luck', 'not for ' + text) }),
      defineTool({ name: 'chatty', description: 'd', input: z.object({}), execute: () => toolError('no answer for "FREE-TEXT of a mail"', 'm') }),
      defineTool({ name: 'delegate', description: 'd', input: z.object({}), execute: (_, call) => run('CHILD-TEXT', call) }),
      defineTool({ name: 'risky', description: 'd', needsApproval: true, input: z.object({}), execute: () => 'done' }),
    ];
  }
}
`,
};

const TEXTS = ['SYSTEM-TEXT', 'USER-TEXT', 'CALL-TEXT', 'RESULT-TEXT', 'ANSWER-TEXT', 'not for'];
const STEPS: readonly ScriptedStep[] = [
  { calls: [{ name: 'echo', input: { text: 'CALL-TEXT canary-1234' } }] },
  { calls: [{ name: 'fail', input: { text: 'CALL-TEXT' } }] },
  { text: 'ANSWER-TEXT' },
];

async function told(env: Readonly<Record<string, string>>): Promise<string> {
  const spans = collectSpans();
  await using pith = await testKernel({ only: [], model: scriptedModel(STEPS), files: FILES, env: { SPY_KEY: 'canary-1234', ...env } });
  expect((await pith.run('USER-TEXT canary-1234')).reason).toBe('done');
  expect(spans.map(({ name }) => name.split(' ')[0])).toEqual(['invoke_agent', 'chat', 'execute_tool', 'chat', 'execute_tool', 'chat']);
  for (const span of spans) checkSpan(span);
  return JSON.stringify(spans);
}

it('U51 no text of a prompt, an answer, an argument, a result or an error is in a span', async () => {
  const all = await told({});
  expect(TEXTS.filter((text) => all.includes(text))).toEqual([]);
  expect(all).toContain('"error.type":"no_luck"');
});

/** The script's model, which names its answers, and why they end, freely. */
function chattyModel(script: ReturnType<typeof scriptedModel>, text: string): LanguageModel {
  return {
    ...script.model,
    async doStream(call) {
      const { stream } = await script.model.doStream(call);
      async function* parts(): AsyncGenerator<ModelPart> {
        yield { type: 'response-metadata', id: text, modelId: text };
        for await (const part of stream)
          yield part.type === 'finish' ? { ...part, finishReason: { unified: text as 'stop', raw: text } } : part;
      }
      return { stream: parts() };
    },
  };
}

it('U51 whatever a model, a tool or a client chooses as an id or a code is in spans only where it looks like one', async () => {
  const text = 'FREE-TEXT of a mail';
  const spans = collectSpans();
  const calls = [
    { name: 'chatty', input: {}, id: text },
    { name: 'risky', input: {}, id: `${text}, too` },
  ];
  const failure = Object.assign(new Error(text), { code: text, retryable: false });
  const script = scriptedModel([{ calls }, { breakWith: failure }]);
  const model = { ...script, model: chattyModel(script, text) };
  await using pith = await testKernel({ only: [], model, files: FILES });
  const run = async (about: { input: string } | { resume: true }) => {
    for await (const event of pith.kernel.agents.run({ agent: 'main', threadId: text, ...about })) void event;
  };
  await run({ input: 'go' });
  const [question] = await pith.kernel.approvals.list(text);
  await pith.kernel.approvals.answer(question!.id, { answer: 'once', by: 'ann' });
  await run({ resume: true });
  expect(spans.map(({ name }) => name.split(' ')[0])).toEqual(expect.arrayContaining(['await_approval', 'execute_tool', 'chat']));
  expect(JSON.stringify(spans)).not.toContain('FREE-TEXT');
  const [called, asked] = ['execute_tool chatty', 'await_approval risky'].map((name) => spans.find((span) => span.name === name));
  expect(called).toMatchObject({ attributes: { 'error.type': '_OTHER' }, status: { message: '_OTHER' } });
  expect(called?.attributes['gen_ai.tool.call.id']).toMatch(/^sha256:[0-9a-f]{16}$/u);
  expect(asked?.attributes['gen_ai.tool.call.id']).not.toBe(called?.attributes['gen_ai.tool.call.id']);
});

it('U51 texts are in spans where the environment asks for them, without secrets', async () => {
  const all = await told({ OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true' });
  expect(TEXTS.filter((text) => !all.includes(text))).toEqual([]);
  expect(all).not.toContain('canary-1234');
});

it('U42 a turn that a tool calls is below that call, in the same trace', async () => {
  const spans = collectSpans();
  const model = scriptedModel([{ calls: [{ name: 'delegate', input: {} }] }, { text: 'child' }, { text: 'done' }]);
  await using pith = await testKernel({ only: [], model, files: FILES });
  await pith.run('go');
  expect(spans.filter(({ name }) => !name.startsWith('chat')).map(({ name, parent }) => [name, parent])).toEqual([
    ['invoke_agent main', null],
    ['execute_tool delegate', 'invoke_agent main'],
    ['invoke_agent child', 'execute_tool delegate'],
  ]);
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
});

it('U42 U51 the wait for approval is a span as long as it took, in the trace in which the turn began', async () => {
  const spans = collectSpans();
  const model = scriptedModel([{ calls: [{ name: 'risky', input: {} }] }, { text: 'done' }]);
  const clock = fakeClock();
  await using pith = await testKernel({ only: [], model, files: FILES, clock });
  expect((await pith.run('go')).reason).toBe('awaiting_approval');
  const [question] = await pith.kernel.approvals.list('test');
  await clock.advance(90_000);
  await pith.kernel.approvals.answer(question!.id, { answer: 'once', by: 'ann' });
  await clock.advance(5000); // after the answer
  for await (const event of pith.kernel.agents.run({ agent: 'main', threadId: 'test', resume: true })) void event;
  const wait = spans.find(({ name }) => name === 'await_approval risky');
  checkSpan(wait!);
  expect(wait).toMatchObject({ parent: 'invoke_agent main', attributes: { 'pith.approval.answer': 'once' }, from: question!.createdAt });
  expect(wait!.to! - wait!.from!).toBe(90_000);
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
  expect(spans.filter(({ name }) => name === 'invoke_agent main').map(({ parent }) => parent)).toEqual([null, 'invoke_agent main']);
});
