import { createOpenAI } from '@ai-sdk/openai';
import { generateText, Output, stepCountIs, streamText, tool, type LanguageModel, type ModelMessage } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'pith';
import { png } from '../../fixtures/images.ts';
import { until } from '../../waiting.ts';
import { servedAgents } from './served-agents.ts';

const weather = tool({
  description: 'The weather.',
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => `rain in ${city}`,
});

async function modelOf(served: Awaited<ReturnType<typeof servedAgents>>, api: 'chat' | 'responses'): Promise<LanguageModel> {
  const provider = createOpenAI({ baseURL: await served.base(), apiKey: await served.token({ userId: 'ada' }) });
  return provider[api]('helper');
}

describe.each(['chat', 'responses'] as const)('W20 W30 the AI SDK pointed at %s', (api) => {
  it('W20 W30 streams, runs its own tools, and goes on with its messages', async () => {
    const served = await servedAgents([
      { calls: [{ name: 'weather', input: { city: 'Bern' } }] },
      { text: ['It ', 'rains.'] },
      { text: 'In Bern.' },
    ]);
    const model = await modelOf(served, api);
    const asked: ModelMessage[] = [{ role: 'user', content: 'How is Bern?' }];
    const run = streamText({ model, messages: asked, tools: { weather }, stopWhen: stepCountIs(3) });
    const pieces: string[] = [];
    for await (const piece of run.textStream) pieces.push(piece);
    expect(pieces).toEqual(['It ', 'rains.']);
    expect((await run.steps).map(({ toolResults }) => toolResults.map(({ output }) => output))).toEqual([['rain in Bern'], []]);
    expect(JSON.stringify(served.model.requests[1]?.messages.at(-1))).toContain('rain in Bern');
    const { messages } = await run.response;
    const next = await generateText({ model, messages: [...asked, ...messages, { role: 'user', content: 'Where?' }] });
    expect(next.text).toBe('In Bern.');
    const sent = JSON.stringify(served.model.requests[2]?.messages);
    for (const text of ['How is Bern?', 'rain in Bern', 'It rains.', 'Where?']) expect(sent.split(text)).toHaveLength(2);
  });

  it('W20 W30 gets what it asks for as a value, sends images, and is told of errors', async () => {
    const served = await servedAgents([{ text: '{"city":"Bern"}' }]);
    const model = await modelOf(served, api);
    const content = [
      { type: 'text' as const, text: 'Where is it?' },
      { type: 'image' as const, image: png() },
    ];
    const { output } = await generateText({
      model,
      messages: [{ role: 'user', content }],
      output: Output.object({ schema: z.object({ city: z.string() }) }),
    });
    expect(output).toEqual({ city: 'Bern' });
    expect(JSON.stringify(served.model.requests[0]?.messages)).toContain('image/png');
    const provider = createOpenAI({ baseURL: await served.base(), apiKey: await served.token() });
    await expect(generateText({ model: provider[api]('nobody'), prompt: 'x', maxRetries: 0 })).rejects.toMatchObject({
      statusCode: 404,
      message: expect.stringContaining('nobody'),
    });
  });

  it('W20 W30 ends its turn here when it is aborted', async () => {
    const served = await servedAgents([{ text: ['I am'], hang: true }]);
    const ended: string[] = [];
    served.pith.kernel.events.handle('turn.ended', ({ reason }) => void ended.push(reason));
    const stop = new AbortController();
    const run = streamText({ model: await modelOf(served, api), prompt: 'x', abortSignal: stop.signal, onError: () => undefined });
    for await (const _ of run.textStream) stop.abort();
    await until(() => ended.length === 1);
    expect(ended).toEqual(['aborted']);
  });
});
