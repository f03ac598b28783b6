import { inspect } from 'node:util';
import { createPith } from 'pith/embed';
import { scriptedModel } from 'pith/testing';
import { expect, it, onTestFinished } from 'vitest';
import { startOpenAiServer } from '../../fixtures/openai-server.ts';
import { mapLog } from '../../fixtures/thread-logs.ts';
import { folderWith } from '../../places.ts';
import { checkSpan, collectSpans } from '../../span-collector.ts';
import { skillText } from '../../extensions/skill_registry/skill-sandbox.ts';

it('U51 an embedding program that has a tracer provider sees which skill a call loads, and from where', async () => {
  const spans = collectSpans();
  const folder = folderWith({ 'letters/SKILL.md': skillText({ name: 'letters', description: 'Writes letters.', body: 'Say ahoy.' }) });
  const model = scriptedModel([{ calls: [{ name: 'read_skill', input: { skill_id: 'letters' } }] }, { text: 'Ahoy!' }]);
  await using pith = await createPith({ model: model.model, skills: [folder] });
  await pith.run('write a letter').result;
  for (const span of spans) checkSpan(span);
  expect(spans.find(({ name }) => name === 'execute_tool read_skill letters')).toMatchObject({
    parent: 'invoke_agent assistant',
    attributes: { 'gen_ai.skill.name': 'letters', 'gen_ai.skill.source.uri': expect.stringMatching(/^file:.*\/letters$/u) as unknown },
  });
});

it('U45 U51 a turn that goes on in another process, over a store of the program, stays in its trace', async () => {
  const spans = collectSpans();
  const store = mapLog();
  const tools = { pay: { needsApproval: true, execute: () => 'paid' } };
  const asks = scriptedModel([{ calls: [{ name: 'pay', input: {} }] }]);
  const first = await createPith({ model: asks.model, store, tools, approve: () => 'later' });
  const { questions } = await first.run('go', { thread: 't' }).result;
  await first.close();
  await using second = await createPith({ model: scriptedModel([{ text: 'end' }]).model, store, tools });
  expect(await second.resume('t', { [questions[0]!.id]: 'yes' }).result).toMatchObject({ status: 'done', text: 'end' });
  const turns = spans.filter(({ name }) => name.startsWith('invoke_agent'));
  expect(turns).toHaveLength(2);
  expect(new Set(turns.map(({ traceId }) => traceId)).size).toBe(1);
});

it.each([
  ['without', {}],
  ['with', { OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true' }],
])('U51 its spans %s texts: the variable comes in `env`', async (how, env) => {
  const spans = collectSpans();
  const { model } = scriptedModel([{ text: 'Ahoy!' }]);
  await using pith = await createPith({ model, env });
  await pith.run('write a letter').result;
  expect(JSON.stringify(spans).includes('write a letter')).toBe(how === 'with');
});

it('U51 a key that a provider, a stream and a tool echo is in no error, event, message, prompt or span', async () => {
  const key = 'sk-canary-0123456789';
  const spans = collectSpans();
  const server = await startOpenAiServer();
  onTestFinished(() => server.close());
  const echo = { message: `wrong key: ${key}`, type: key, code: key };
  await using pith = await createPith({
    model: 'openai/test-model',
    extensions: ['openai_compatible'],
    env: { OPENAI_API_KEY: key, OPENAI_BASE_URL: server.url, OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true' },
    tools: {
      throws: () => {
        throw new Error(`no ${key}`, { cause: { key } });
      },
      tells: () => `the key is ${key}`,
    },
  });
  const calls = [
    { name: 'throws', input: {} },
    { name: 'tells', input: {} },
  ];
  server.script(
    { status: 401, error: echo },
    { status: 400, error: echo },
    { text: 'half', streamError: echo },
    { calls },
    { text: 'done' },
  );
  const seen: unknown[] = [];
  for (const thread of ['a', 'b', 'c', 'd']) {
    const run = pith.run('go', { thread });
    const ended = run.result.catch((error: unknown) => error);
    const reading = (async () => {
      for await (const event of run) seen.push(event);
    })();
    seen.push(await reading.catch((error: unknown) => error), await ended, await pith.threads.messages(thread));
  }
  const codes = seen.filter((each) => each instanceof Error).map((error) => (error as Error & { code?: unknown }).code);
  expect(codes).toEqual(['model_auth', 'model_auth', 'model_failed', 'model_failed', 'model_failed', 'model_failed']);
  expect(server.requests.map(({ headers }) => headers['authorization'])).toEqual(Array.from({ length: 5 }, () => `Bearer ${key}`));
  expect(spans.length).toBeGreaterThan(8);
  const told = inspect([seen, spans, server.requests.map(({ body }) => body)], {
    depth: Infinity,
    maxStringLength: Infinity,
    showHidden: true,
  });
  expect(told).toContain('wrong key: ');
  expect(told).not.toContain('canary');
});
