import type { ResponseStreamEvent } from 'openai/resources/responses/responses';
import { describe, expect, it } from 'vitest';
import { png } from '../../fixtures/images.ts';
import { fakeClock } from 'pith/testing';
import { gate, passed, until } from '../../waiting.ts';
import { clientOf, servedAgents, textsOf } from './served-agents.ts';

const USAGE = { inputTokens: 7, outputTokens: 3 };
const WEATHER = {
  type: 'function',
  name: 'weather',
  description: 'The weather.',
  strict: false,
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
} as const;

async function eventsOf(stream: AsyncIterable<ResponseStreamEvent>): Promise<readonly ResponseStreamEvent[]> {
  const events: ResponseStreamEvent[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

describe('W20 responses', () => {
  it('W20 an answer is kept, shown and deleted, and goes on by its id', async () => {
    const served = await servedAgents([{ text: 'Hello Ada.', usage: USAGE }, { text: 'Ada.' }, { text: 'Somebody.' }]);
    const openai = await clientOf(served);
    const first = await openai.responses.create({ model: 'helper', input: 'I am Ada', instructions: 'Be short.' });
    expect(first).toMatchObject({
      object: 'response',
      status: 'completed',
      model: 'helper',
      output_text: 'Hello Ada.',
      instructions: 'Be short.',
      usage: { input_tokens: 7, output_tokens: 3, total_tokens: 10 },
    });
    expect(await openai.responses.retrieve(first.id)).toMatchObject({ id: first.id, output: first.output });
    const second = await openai.responses.create({ model: 'helper', input: 'Who?', previous_response_id: first.id });
    expect(second.output_text).toBe('Ada.');
    await openai.responses.create({ model: 'helper', input: 'Who?' });
    const conversation = [
      ['user', 'I am Ada'],
      ['assistant', 'Hello Ada.'],
      ['user', 'Who?'],
    ];
    expect(served.model.requests.map(textsOf)).toEqual([conversation.slice(0, 1), conversation, conversation.slice(2)]);
    await openai.responses.delete(second.id);
    await expect(openai.responses.retrieve(second.id)).rejects.toMatchObject({ status: 404, code: 'response_not_found' });
    const unkept = openai.responses.create({ model: 'helper', input: 'x', previous_response_id: second.id });
    await expect(unkept).rejects.toMatchObject({ status: 404, code: 'previous_response_not_found' });
  });

  it('W20 a response is deleted with its conversation', async () => {
    const served = await servedAgents([{ text: 'A secret.' }, { text: 'Another.' }]);
    const openai = await clientOf(served);
    const say = async () => openai.responses.create({ model: 'helper', input: 'Tell me' }).withResponse();
    const [{ data: gone, response }, { data: kept }] = [await say(), await say()];
    await served.pith.kernel.agents.deleteThread(response.headers.get('x-pith-thread') ?? '');
    const isGone = async (id: string) =>
      openai.responses.retrieve(id).then(
        () => false,
        ({ status }) => status === 404,
      );
    await until(async () => isGone(gone.id));
    expect(await isGone(kept.id)).toBe(false);
  });

  it('W20 a response that is not the last of its conversation is gone on from in a branch, as often as one wants', async () => {
    const served = await servedAgents(['Hello Ada.', 'Ada.', 'A branch.', 'Another.', 'Its end.'].map((text) => ({ text })));
    const openai = await clientOf(served);
    const say = (input: string, before?: string) =>
      openai.responses.create({ model: 'helper', input, ...(before === undefined ? {} : { previous_response_id: before }) });
    const first = await say('I am Ada');
    const second = await say('Who?', first.id);
    const fork = await say('How?', first.id);
    await say('Why?', first.id);
    await say('And then?', fork.id);
    const begin = [
      ['user', 'I am Ada'],
      ['assistant', 'Hello Ada.'],
    ];
    expect(served.model.requests.slice(2).map(textsOf)).toEqual([
      [...begin, ['user', 'How?']],
      [...begin, ['user', 'Why?']],
      [...begin, ['user', 'How?'], ['assistant', 'A branch.'], ['user', 'And then?']],
    ]);
    const stranger = await clientOf(served, { userId: 'bob' });
    const theirs = stranger.responses.create({ model: 'helper', input: 'x', previous_response_id: first.id });
    await expect(theirs).rejects.toMatchObject({ status: 404, code: 'previous_response_not_found' });
    expect((await openai.responses.retrieve(second.id)).output_text).toBe('Ada.');
  });

  it('W20 a response whose turn waited for its calls and has gone on cannot be gone on from again, and says what to do', async () => {
    const served = await servedAgents([{ calls: [{ name: 'weather', input: { city: 'Bern' } }] }, { text: 'Rain.' }]);
    const openai = await clientOf(served);
    const asked = { model: 'helper', tools: [WEATHER] };
    const first = await openai.responses.create({ ...asked, input: 'How is it?' });
    const [call] = first.output;
    if (call?.type !== 'function_call') throw new Error('the program was not called');
    const answer = (output: string) =>
      openai.responses.create({
        ...asked,
        input: [{ type: 'function_call_output', call_id: call.call_id, output }],
        previous_response_id: first.id,
      });
    expect((await answer('rain')).output_text).toBe('Rain.');
    await expect(answer('sun')).rejects.toMatchObject({
      status: 400,
      code: 'previous_response_not_last',
      message: expect.stringContaining('name its last response'),
    });
  });

  it('W20 while nothing comes, a stream begins and says that it is there: the clients pass over that', async () => {
    const { opened, open } = gate();
    const clock = fakeClock(Date.now());
    const hold = async () => (await opened, { text: 'at last' });
    const served = await servedAgents([hold, hold], { clock });
    const token = await served.token({ userId: 'ada' });
    const json = { model: 'helper', input: 'hi', stream: true };
    const begun = served.open('/v1/responses', { method: 'POST', token, json });
    const openai = await clientOf(served, token);
    const stream = openai.responses.create({ ...json, stream: true });
    await until(() => served.model.requests.length === 2);
    const { status, headers, parts } = await passed(clock, begun); // before anything is said
    expect([status, headers['x-accel-buffering']]).toEqual([200, 'no']); // a proxy holds nothing back
    const heard = async (): Promise<string> => {
      let raw = '';
      while (!raw.includes(': still here')) raw += String((await parts.next()).value);
      return raw;
    };
    expect(await passed(clock, heard(), 5000)).toContain('event: response.created');
    const events = passed(clock, stream);
    open();
    const seen = await eventsOf(await events);
    expect(seen.map(({ type }) => type)).toContain('response.completed');
    expect(seen.every(({ type }) => type.startsWith('response.'))).toBe(true);
  });

  it('W20 a streamed response has its events in order, and the last has it whole', async () => {
    const served = await servedAgents([{ text: ['Hel', 'lo.'], usage: USAGE }]);
    const openai = await clientOf(served);
    const events = await eventsOf(await openai.responses.create({ model: 'helper', input: 'hi', stream: true }));
    expect(events.map(({ type }) => type)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ]);
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, at) => at));
    const last = events.at(-1) as Extract<ResponseStreamEvent, { type: 'response.completed' }>;
    expect(await openai.responses.retrieve(last.response.id)).toMatchObject({ output: last.response.output, usage: { total_tokens: 10 } });
  });

  it("W20 calls of the program's tools are items, and their outputs go on with the turn", async () => {
    const script = [
      {
        calls: [
          { name: 'look', input: { what: 'x' } },
          { name: 'weather', input: { city: 'Bern' } },
          { name: 'weather', input: { city: 'Oslo' } },
        ],
      },
      { text: 'Rain and snow.' },
    ];
    const served = await servedAgents([...script, ...script]);
    const openai = await clientOf(served);
    const asked = { model: 'helper', tools: [WEATHER] };
    for (const byId of [true, false]) {
      const stream = openai.responses.stream({ ...asked, input: 'How is it?' });
      const first = await stream.finalResponse();
      const calls = first.output.flatMap((item) => (item.type === 'function_call' ? [item] : []));
      expect(calls.map(({ name, arguments: text }) => [name, text])).toEqual([
        ['weather', '{"city":"Bern"}'],
        ['weather', '{"city":"Oslo"}'],
      ]);
      const outputs = calls.map(({ call_id }, at) => ({ type: 'function_call_output' as const, call_id, output: ['rain', 'snow'][at]! }));
      const next = byId
        ? await openai.responses.create({ ...asked, input: outputs, previous_response_id: first.id })
        : await openai.responses.create({
            ...asked,
            input: [{ role: 'user', content: 'How is it?' }, ...(first.output as never[]), ...outputs],
          });
      expect(next.output_text).toBe('Rain and snow.');
      expect(served.model.requests.at(-1)?.messages.at(-1)?.content).toMatchObject(
        ['look x', 'rain', 'snow'].map((value) => ({ output: { value } })),
      );
    }
  });

  it('W20 images, formats and errors are as in chat completions', async () => {
    const data = png().toString('base64');
    const served = await servedAgents([{ text: '{"n":1}' }]);
    const openai = await clientOf(served);
    const image = (image_url: string) => ({ type: 'input_image' as const, detail: 'auto' as const, image_url });
    const input = (url: string) => [{ role: 'user' as const, content: [{ type: 'input_text' as const, text: 'How many?' }, image(url)] }];
    const schema = { type: 'object', properties: { n: { type: 'number' } } };
    const text = { format: { type: 'json_schema' as const, name: 'n', schema } };
    expect((await openai.responses.create({ model: 'helper', input: input(`data:image/png;base64,${data}`), text })).output_text).toBe(
      '{"n":1}',
    );
    expect(served.model.requests[0]?.messages.at(-1)?.content).toContainEqual(expect.objectContaining({ type: 'file', data }));
    for (const [body, wanted] of [
      [{ input: input('https://example.com/a.png') }, { param: 'input[0].content[1].image_url' }],
      [{ input: 5 }, { param: 'input' }],
      [{ input: 'x', background: true }, { param: 'background' }],
      [{ input: 'x', tools: [{ type: 'web_search' }] }, { param: 'tools[0].type' }],
      [{ input: [{ type: 'message', role: 'user', content: [{ type: 'audio' }] }] }, { param: 'input[0].content[0].type' }],
    ] as const)
      await expect(openai.responses.create({ model: 'helper', ...body } as never)).rejects.toMatchObject({ status: 400, ...wanted });
  });
});
