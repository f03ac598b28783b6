import { request } from 'node:http';
import type {
  ChatCompletionChunk,
  ChatCompletionCreateParamsStreaming,
  ChatCompletionMessageParam,
} from 'openai/resources/chat/completions';
import { PithError } from 'pith';
import { describe, expect, it } from 'vitest';
import { png } from '../../fixtures/images.ts';
import { until } from '../../waiting.ts';
import { clientOf, servedAgents, textsOf } from './served-agents.ts';

const said = (content: string): ChatCompletionMessageParam => ({ role: 'user', content });
const PNG = png().toString('base64');
const USAGE = { inputTokens: 7, outputTokens: 3 };

const WEATHER = {
  type: 'function',
  function: { name: 'weather', description: 'The weather.', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
} as const;

async function chunksOf(stream: AsyncIterable<ChatCompletionChunk>): Promise<readonly ChatCompletionChunk[]> {
  const chunks: ChatCompletionChunk[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

describe('W20 chat completions', () => {
  it('W20 an agent answers as a model, with usage; the thread is named, and goes on by its name with the last message alone', async () => {
    const served = await servedAgents([{ text: 'Hello Ada.', usage: USAGE }, { text: 'Ada.' }, { text: 'none' }]);
    const openai = await clientOf(served);
    expect((await openai.models.list()).data.map(({ id }) => id)).toEqual(['helper', 'other']);
    expect(await openai.models.retrieve('helper')).toMatchObject({ id: 'helper', object: 'model' });
    const first = await openai.chat.completions.create({ model: 'helper', messages: [said('I am Ada')] }).withResponse();
    expect(first.data).toMatchObject({
      object: 'chat.completion',
      model: 'helper',
      choices: [{ finish_reason: 'stop', message: { role: 'assistant', content: 'Hello Ada.' } }],
      usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
    });
    const thread = first.response.headers.get('x-pith-thread') ?? '';
    const messages = [said('I am Ada'), { role: 'assistant', content: 'Hello Ada.' } as const, said('Who?')];
    await openai.chat.completions.create({ model: 'helper', messages }, { headers: { 'x-pith-thread': thread } });
    await openai.chat.completions.create({ model: 'helper', messages: [said('Who?')] });
    const conversation = [
      ['user', 'I am Ada'],
      ['assistant', 'Hello Ada.'],
      ['user', 'Who?'],
    ];
    expect(served.model.requests.map(textsOf)).toEqual([conversation.slice(0, 1), conversation, conversation.slice(2)]);
  });

  it('W20 what a program sends of a conversation is before the model once, with its instructions behind those of the agent', async () => {
    const served = await servedAgents([{ text: 'Bern' }]);
    const openai = await clientOf(served);
    const call = { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Bern"}' } } as const;
    await openai.chat.completions.create({
      model: 'helper',
      messages: [
        { role: 'system', content: 'Be short.' },
        said('How is Bern?'),
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'tool', tool_call_id: 'call_1', content: 'rain' },
        { role: 'assistant', content: 'Rain.' },
        said('Where?'),
      ],
      user: 'somebody else',
      temperature: 0.1,
    });
    const [request] = served.model.requests;
    expect(request?.system).toMatch(/You help\.\s+Be short\./u);
    expect(request?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'user']);
    expect(JSON.stringify(request?.messages)).toContain('"value":"rain"');
  });

  it('W20 a streamed answer comes in pieces, with its usage where that is asked for, and its thread in the last chunk', async () => {
    const served = await servedAgents([{ text: ['Hel', 'lo.'], usage: USAGE }]);
    const openai = await clientOf(served);
    const asked = {
      model: 'helper',
      messages: [said('hi')],
      stream: true,
      stream_options: { include_usage: true },
    } satisfies ChatCompletionCreateParamsStreaming;
    const { data, response } = await openai.chat.completions.create(asked).withResponse();
    const chunks = await chunksOf(data);
    expect(chunks.flatMap(({ choices }) => choices[0]?.delta.content ?? []).filter(Boolean)).toEqual(['Hel', 'lo.']);
    const [last, usage] = chunks.slice(-2);
    expect(last).toMatchObject({
      choices: [{ finish_reason: 'stop' }],
      pith: { thread: response.headers.get('x-pith-thread'), reason: 'done' },
    });
    expect(usage).toMatchObject({ choices: [], usage: { prompt_tokens: 7, completion_tokens: 3 } });
  });

  it('W20 tools that Pith runs are hidden, and shown to who asks by X-Pith-Steps', async () => {
    const steps = [{ text: 'I look.', calls: [{ name: 'look', input: { what: 'here' } }] }, { text: 'Found.' }];
    const served = await servedAgents([...steps, ...steps, ...steps]);
    const openai = await clientOf(served);
    const asked = { model: 'helper', messages: [said('find it')] };
    const hidden = await openai.chat.completions.create(asked);
    expect(hidden.choices[0]?.message).toMatchObject({ content: 'I look.\n\nFound.' });
    expect(hidden.choices[0]?.message.tool_calls).toBeUndefined();
    expect(JSON.stringify(hidden)).not.toContain('"steps"');
    const step = { name: 'look', arguments: { what: 'here' }, ok: true };
    const show = { headers: { 'x-pith-steps': 'show' } };
    expect(await openai.chat.completions.create(asked, show)).toMatchObject({ pith: { steps: [step] } });
    const chunks = await chunksOf(await openai.chat.completions.create({ ...asked, stream: true }, show));
    expect(chunks).toContainEqual(expect.objectContaining({ pith: expect.objectContaining({ step: expect.objectContaining(step) }) }));
  });

  it('W20 an image in the request reaches the model, one at an address is refused', async () => {
    const served = await servedAgents([{ text: 'A pixel.' }]);
    const openai = await clientOf(served);
    const asked = (url: string) =>
      openai.chat.completions.create({
        model: 'helper',
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'What is it?' },
              { type: 'image_url', image_url: { url } },
            ],
          },
        ],
      });
    await asked(`data:image/png;base64,${PNG}`);
    expect(served.model.requests[0]?.messages.at(-1)?.content).toContainEqual(
      expect.objectContaining({ type: 'file', mediaType: 'image/png', data: PNG }),
    );
    await expect(asked('https://example.com/a.png')).rejects.toMatchObject({
      status: 400,
      param: 'messages[0].content[1].image_url.url',
      message: expect.stringContaining('data URL'),
    });
  });

  it("W20 a turn ends with calls of the program's own tools, and goes on with their results; nothing is repeated", async () => {
    const both = { name: 'weather', input: { city: 'Bern' } };
    const script = [
      { text: 'Wait.', calls: [{ name: 'note', input: { what: 'a' } }, both, { ...both, input: { city: 'Oslo' } }] },
      { text: 'Rain and snow.' },
    ];
    const served = await servedAgents([...script, { calls: [{ name: 'counts', input: {} }] }, { text: 'ok' }, ...script]);
    const openai = await clientOf(served);
    for (const stream of [false, true]) {
      const asked = { model: 'helper', messages: [said('How is it?')], tools: [WEATHER] };
      const message = stream
        ? (await openai.chat.completions.stream(asked).finalChatCompletion()).choices[0]!
        : (await openai.chat.completions.create(asked)).choices[0]!;
      expect(message.finish_reason).toBe('tool_calls');
      const calls = message.message.tool_calls ?? [];
      expect(calls.map((call) => call.type === 'function' && JSON.parse(call.function.arguments))).toEqual([
        { city: 'Bern' },
        { city: 'Oslo' },
      ]);
      const results = calls.map(({ id }, at) => ({ role: 'tool', tool_call_id: id, content: ['rain', 'snow'][at]! }) as const);
      const next = await openai.chat.completions
        .create({ ...asked, messages: [...asked.messages, message.message, ...results] })
        .withResponse();
      expect(next.data.choices[0]?.message.content).toContain('Rain and snow.');
      if (stream) continue;
      const thread = next.response.headers.get('x-pith-thread')!;
      await openai.chat.completions.create({ model: 'helper', messages: [said('count')] }, { headers: { 'x-pith-thread': thread } });
      expect(JSON.stringify(served.model.requests.at(-1)?.messages.at(-1))).toContain('{\\"note\\":1}');
    }
    const [sent] = served.model.requests;
    expect(sent?.tools.map(({ name }) => name)).toContain('weather');
    expect(served.model.requests[1]?.messages.at(-1)?.content).toMatchObject(
      ['note a', 'rain', 'snow'].map((value) => ({ output: { value } })),
    );
  });

  it("W20 a program's tool of a name that the agent has is its own all the same", async () => {
    const served = await servedAgents([
      {
        calls: [
          { name: 'program_turns__look', input: {} },
          { name: 'look', input: { what: 'x' } },
        ],
      },
    ]);
    const openai = await clientOf(served);
    const tools = [{ type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } }] as const;
    const answer = await openai.chat.completions.create({ model: 'helper', messages: [said('look')], tools: [...tools] });
    expect(answer.choices[0]?.message.tool_calls).toMatchObject([{ function: { name: 'look', arguments: '{}' } }]);
  });

  it('W20 results of calls that nobody waits for are told to a new turn', async () => {
    const served = await servedAgents([{ text: 'Rain.' }]);
    const openai = await clientOf(served);
    const call = { id: 'call_of_elsewhere', type: 'function', function: { name: 'weather', arguments: '{}' } } as const;
    const messages: ChatCompletionMessageParam[] = [
      said('How is it?'),
      { role: 'assistant', tool_calls: [call] },
      { role: 'tool', tool_call_id: call.id, content: 'rain' },
    ];
    expect((await openai.chat.completions.create({ model: 'helper', messages, tools: [WEATHER] })).choices[0]?.message.content).toBe(
      'Rain.',
    );
    expect(JSON.stringify(served.model.requests[0]?.messages)).toContain('"value":"rain"');
  });

  it('W20 an answer that is to be JSON is asked for again until it is, and an error where it never is', async () => {
    const served = await servedAgents([
      { text: 'Bern!' },
      { text: '```json\n{"city":"Bern"}\n```' },
      { text: '1' },
      { text: '2' },
      { text: '3' },
    ]);
    const openai = await clientOf(served);
    const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false };
    const asked = {
      model: 'helper',
      messages: [said('Where?')],
      response_format: { type: 'json_schema', json_schema: { name: 'place', schema } },
    } as const;
    const chunks = await chunksOf(await openai.chat.completions.create({ ...asked, messages: [said('Where?')], stream: true }));
    expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe('{"city":"Bern"}');
    expect(served.model.requests[0]?.system).toContain('JSON Schema');
    await expect(openai.chat.completions.create({ ...asked, messages: [said('Where?')] })).rejects.toMatchObject({
      status: 502,
      code: 'output_invalid',
    });
    await expect(
      openai.chat.completions.create({ model: 'helper', messages: [said('x')], response_format: { type: 'xml' } as never }),
    ).rejects.toMatchObject({ status: 400, param: 'response_format' });
  });

  it('W20 W31 no schema of an answer stops the kernel: it is refused, or its check ends', async () => {
    const twice = (ref: string) => ({ anyOf: [{ $ref: ref }, { $ref: ref }] });
    const $defs = Object.fromEntries(Array.from({ length: 26 }, (_, at) => [`d${at}`, at === 0 ? {} : twice(`#/$defs/d${at - 1}`)]));
    const steps = [1, 2, 3].map(() => ({ text: `"${'a'.repeat(10_000)}!"` }));
    const openai = await clientOf(await servedAgents(steps));
    const asked = (schema: object) =>
      openai.chat.completions.create({
        model: 'helper',
        messages: [said('x')],
        response_format: { type: 'json_schema', json_schema: { name: 'x', schema: schema as Record<string, unknown> } },
      });
    for (const schema of [{ $defs, ...twice('#/$defs/d25') }, { pattern: '(?=a)a' }, { anyOf: [{ $ref: '#' }] }])
      await expect(asked(schema)).rejects.toMatchObject({ status: 400, code: 'invalid_json_schema' });
    await expect(asked({ type: 'string', pattern: '^(a+)+$' })).rejects.toMatchObject({ status: 502, code: 'output_invalid' });
  });

  it('W3 W31 a body of very many values is refused before it is read further, however short it is', async () => {
    const served = await servedAgents([{ text: 'ok' }]);
    const openai = await clientOf(served);
    const create = (messages: readonly object[]) => openai.chat.completions.create({ model: 'helper', messages } as never);
    await expect(create(Array.from({ length: 25_000 }, () => said('x')))).rejects.toMatchObject({ status: 413, code: 'body_too_large' });
    const deep = JSON.parse(`${'['.repeat(1000)}${']'.repeat(1000)}`) as object;
    await expect(create([said('x'), deep])).rejects.toMatchObject({ status: 413 });
    await create(Array.from({ length: 2000 }, () => said('x')));
    expect(served.model.requests).toHaveLength(1);
  });

  it('W3 W20 a turn that fails by the settings or the disk says why, with no path of the machine', async () => {
    let sandbox = '';
    const failing = [
      () => new PithError('model_unknown', "models.default: there is no model 'foo'", { cure: 'write provider/model' }),
      () =>
        new PithError('database_failed', `database ${sandbox}/data/pith.db: the disk is full`, { cure: 'free some space and try again' }),
    ];
    const served = await servedAgents(
      failing.flatMap((error) => Array.from({ length: 4 }, () => () => Promise.resolve({ text: '', error: error() }))),
    );
    ({ sandbox } = served.pith);
    const openai = await clientOf(served);
    const said422 = [
      "models.default: there is no model 'foo'; write provider/model",
      'database sandbox/data/pith.db: the disk is full; free some space',
    ];
    for (const [at, code] of ['model_unknown', 'database_failed'].entries()) {
      const asked = { model: 'helper', messages: [said('x')] };
      const wanted = { status: 422, code, message: expect.stringContaining(said422[at] ?? '') };
      for (const stream of [false, true]) {
        await expect(openai.chat.completions.create({ ...asked, stream })).rejects.toMatchObject(wanted);
        await expect(openai.responses.create({ model: 'helper', input: 'x', stream })).rejects.toMatchObject(wanted);
      }
    }
  });

  it('W20 errors have the shape and the status that clients know', async () => {
    const served = await servedAgents([
      { error: Object.assign(new Error('slow down'), { statusCode: 429, isRetryable: false, retryable: false }) },
    ]);
    const openai = await clientOf(served);
    const create = (body: object) => openai.chat.completions.create({ model: 'helper', messages: [said('x')], ...body } as never);
    for (const [body, wanted] of [
      [{ model: 'nobody' }, { status: 404, code: 'model_not_found', param: 'model' }],
      [{ model: 5 }, { status: 400, param: 'model' }],
      [{ messages: [] }, { status: 400, param: 'messages' }],
      [{ messages: [said('x'), { role: 'judge', content: 'x' }] }, { status: 400, param: 'messages[1].role' }],
      [{ messages: [{ role: 'user', content: [{ type: 'text' }] }] }, { status: 400, param: 'messages[0].content[0].text' }],
      [{ messages: [{ role: 'assistant', content: 'x' }] }, { status: 400 }],
      [{ n: 2 }, { status: 400, param: 'n' }],
      [
        { tools: [WEATHER], tool_choice: 'required' },
        { status: 400, param: 'tool_choice' },
      ],
      [{ tools: [WEATHER, WEATHER] }, { status: 400, param: 'tools' }],
      [{ tools: [{ type: 'function', function: { name: 'a b' } }] }, { status: 400, param: 'tools[0].function.name' }],
    ] as const)
      await expect(create(body)).rejects.toMatchObject({ type: 'invalid_request_error', ...wanted });
    await expect(create({})).rejects.toMatchObject({ error: { message: expect.any(String), type: expect.any(String) } });
  });

  it('W20 what the listener refuses, and what is not there, has that shape too', async () => {
    const served = await servedAgents([], { settings: { requests_per_user: 6 } });
    const openai = await clientOf(served);
    const post = (path: string, more: object) => openai.post(path, more as never);
    const long = { model: 'helper', messages: [said('x'.repeat(33 * 1024 * 1024))] };
    const asked: readonly (readonly [() => Promise<unknown>, object])[] = [
      [async () => (await clientOf(served, 'wrong')).models.list(), { status: 401, code: 'token_needed' }],
      [() => openai.embeddings.create({ model: 'helper', input: 'x' }), { status: 404, code: 'not_found' }],
      [async () => openai.get('/files'), { status: 404, code: 'not_found' }],
      [() => post('/chat/completions', { body: long }), { status: 413, code: 'body_too_large' }],
      [() => post('/responses', { body: 'x', headers: { 'content-type': 'text/plain' } }), { status: 415, code: 'type_unknown' }],
      [() => post('/responses', { body: '{', headers: { 'content-type': 'application/json' } }), { status: 400, code: 'body_invalid' }],
      [() => openai.models.retrieve('helper', { headers: { origin: 'https://evil.example' } }), { status: 403, code: 'not_allowed' }],
    ];
    for (const [ask, wanted] of asked) {
      const error = await ask().then(
        () => null,
        (wrong: unknown) => wrong,
      );
      const body = { message: expect.any(String), type: 'invalid_request_error', param: null, code: (wanted as { code: string }).code };
      expect(error).toMatchObject({ ...wanted, error: body });
    }
    await openai.models.list();
    await expect(openai.models.list()).rejects.toMatchObject({ status: 429, type: 'rate_limit_error', code: 'limit_reached', param: null });
  });

  it.each(['GET /v1/models', 'POST /v1/chat/completions', 'POST /v1/responses'])(
    'W3 W20 %s with a header sent twice is refused in that shape',
    async (route) => {
      const served = await servedAgents([]);
      const [method, path] = route.split(' ');
      const [port, token] = [await served.port(), await served.token()];
      const headers = ['Host', `127.0.0.1:${port}`, 'Authorization', `Bearer ${token}`, 'Authorization', 'Bearer other'];
      const { status, text } = await new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
        const asked = request({ host: '127.0.0.1', port, method, path, headers, agent: false }, async (answer) => {
          const parts: string[] = [];
          for await (const part of answer.setEncoding('utf8')) parts.push(String(part));
          resolve({ status: answer.statusCode, text: parts.join('') });
        });
        asked.on('error', reject).end();
      });
      const error = {
        message: "the header 'authorization' was sent twice",
        type: 'invalid_request_error',
        param: null,
        code: 'headers_invalid',
      };
      expect([status, JSON.parse(text)]).toEqual([400, { error }]);
    },
  );

  it('W3 W20 the log has the reason of a failure that the client is not told, of a stream too', async () => {
    const served = await servedAgents([
      { error: new PithError('odd', 'the first reason') },
      { text: ['I am'], breakWith: new PithError('odd', 'the second reason') },
    ]);
    const openai = await clientOf(served);
    const asked = { model: 'helper', messages: [said('x')] };
    await expect(openai.chat.completions.create(asked)).rejects.toMatchObject({ status: 500 });
    const streamed = async () => {
      for await (const _ of await openai.chat.completions.create({ ...asked, stream: true })) continue;
    };
    await expect(streamed()).rejects.toThrow('something went wrong; the log of Pith says what');
    await until(async () => (await served.log()).includes('the second reason'));
    expect(await served.log()).toContain('the first reason');
  });

  it('W20 a program that leaves ends its turn here', async () => {
    const served = await servedAgents([
      { text: ['I am'], hang: true },
      { text: ['I am'], hang: true },
    ]);
    const openai = await clientOf(served);
    const ended: string[] = [];
    served.pith.kernel.events.handle('turn.ended', ({ reason }) => void ended.push(reason));
    const stream = await openai.chat.completions.create({ model: 'helper', messages: [said('x')], stream: true });
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break;
    await until(() => ended.length === 1);
    const stop = new AbortController();
    const whole = openai.chat.completions.create({ model: 'helper', messages: [said('x')] }, { signal: stop.signal });
    await until(() => served.model.requests.length === 2);
    stop.abort();
    await expect(whole).rejects.toThrow(/abort/iu);
    await until(() => ended.length === 2);
    expect(ended).toEqual(['aborted', 'aborted']);
  });

  it('W5 W20 what belongs to another user is unknown: threads, responses, calls, and agents that are not for everybody', async () => {
    const files = { 'pith.yaml': JSON.stringify({ extensions: { http: { agents: ['other'] } } }) };
    const served = await servedAgents([{ text: 'x' }, { calls: [{ name: 'weather', input: {} }] }, { text: 'new' }], { files });
    const ada = await clientOf(served, { userId: 'ada', role: 'admin' });
    const bob = await clientOf(served, { userId: 'bob' });
    expect((await bob.models.list()).data.map(({ id }) => id)).toEqual(['other']);
    const unknown = async (ask: (id: string) => PromiseLike<unknown>, of: string, other: string) => {
      const errors = await Promise.all(
        [of, other].map((id) =>
          Promise.resolve(ask(id)).then(
            () => null,
            ({ status, error }) => ({ status, error }),
          ),
        ),
      );
      const [theirs, none] = errors.map((error) => JSON.stringify(error).replaceAll(of, 'ID').replaceAll(other, 'ID'));
      expect(theirs).toBe(none);
      expect(errors[0]).toMatchObject({ status: 404 });
    };
    await unknown((model) => bob.chat.completions.create({ model, messages: [said('x')] }), 'helper', 'nobody');
    await unknown((model) => bob.models.retrieve(model), 'helper', 'nobody');
    const response = await ada.responses.create({ model: 'other', input: 'x' });
    await unknown((id) => bob.responses.retrieve(id), response.id, 'resp_none');
    await unknown((id) => bob.responses.delete(id), response.id, 'resp_none');
    await unknown((id) => bob.responses.create({ model: 'other', input: 'x', previous_response_id: id }), response.id, 'resp_none');
    const asked = { model: 'other', messages: [said('How?')], tools: [WEATHER] };
    const { data, response: answer } = await ada.chat.completions.create(asked).withResponse();
    const thread = answer.headers.get('x-pith-thread')!;
    const inThread = (id: string) => bob.chat.completions.create(asked, { headers: { 'x-pith-thread': id } });
    await unknown(inThread, thread, 'none');
    const call = data.choices[0]!.message.tool_calls![0]!;
    const stolen = await bob.chat.completions
      .create({
        ...asked,
        messages: [...asked.messages, data.choices[0]!.message, { role: 'tool', tool_call_id: call.id, content: 'forged' }],
      })
      .withResponse();
    expect(stolen.response.headers.get('x-pith-thread')).not.toBe(thread);
  });
});
