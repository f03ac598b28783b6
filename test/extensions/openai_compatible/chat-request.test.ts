import { expect, it } from 'vitest';
import type { ModelCallOptions } from 'pith';
import { chatRequest } from '../../../sandbox/extensions/openai_compatible/chat-request.ts';

const sent = (options: Partial<ModelCallOptions>, official = false) =>
  JSON.parse(JSON.stringify(chatRequest('m', { prompt: [], ...options }, official).body)) as Record<string, unknown>;
const messages = (...prompt: ModelCallOptions['prompt']) => sent({ prompt })['messages'];
const file = (mediaType: string, data: string | Uint8Array | URL) => ({ type: 'file', mediaType, data }) as const;

it('asks for a stream with its usage, and sends no word for what is not set', () => {
  expect(sent({ tools: [], toolChoice: { type: 'auto' } })).toEqual({
    model: 'm',
    messages: [],
    stream: true,
    stream_options: { include_usage: true },
  });
});

it('OpenAI itself knows the limit of an answer by its newer name', () => {
  expect(sent({ maxOutputTokens: 5, temperature: 0.5, responseFormat: { type: 'json' } })).toMatchObject({
    max_tokens: 5,
    temperature: 0.5,
    response_format: { type: 'json_object' },
  });
  expect(sent({ maxOutputTokens: 5 }, true)).toMatchObject({ max_completion_tokens: 5 });
  expect(sent({ maxOutputTokens: 5 }, true)).not.toHaveProperty('max_tokens');
});

it('sends tools as functions, and says what it cannot send', () => {
  const { body, warnings } = chatRequest(
    'm',
    {
      prompt: [],
      topK: 3,
      toolChoice: { type: 'tool', toolName: 'f' },
      tools: [
        { type: 'function', name: 'f', description: 'd', inputSchema: { type: 'object' } },
        { type: 'provider', id: 'x.search', name: 's', args: {} },
      ],
    },
    false,
  );
  expect(body).toMatchObject({
    tools: [{ type: 'function', function: { name: 'f', description: 'd', parameters: { type: 'object' } } }],
    tool_choice: { type: 'function', function: { name: 'f' } },
  });
  expect(warnings).toEqual([
    { type: 'unsupported', feature: 'topK' },
    { type: 'unsupported', feature: 'provider-defined tool x.search' },
  ]);
});

it('sends reasoning, calls with what a server wants back, and each result by its call', () => {
  const providerOptions = { google: { thoughtSignature: 's' } };
  const result = (toolCallId: string, output: object) => ({ type: 'tool-result', toolCallId, toolName: 'f', output }) as never;
  expect(
    messages(
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'hm' },
          { type: 'tool-call', toolCallId: 'a', toolName: 'f', input: { x: 1 }, providerOptions },
        ],
      },
      {
        role: 'tool',
        content: [
          result('a', { type: 'json', value: { y: 2 } }),
          result('b', { type: 'execution-denied' }),
          result('c', { type: 'error-text', value: 'no' }),
        ],
      },
      { role: 'assistant', content: [{ type: 'text', text: 'Done.' }] },
    ),
  ).toEqual([
    {
      role: 'assistant',
      content: null,
      reasoning_content: 'hm',
      tool_calls: [
        {
          id: 'a',
          type: 'function',
          function: { name: 'f', arguments: '{"x":1}' },
          extra_content: { google: { thought_signature: 's' } },
        },
      ],
    },
    { role: 'tool', tool_call_id: 'a', content: '{"y":2}' },
    { role: 'tool', tool_call_id: 'b', content: 'Tool call execution denied.' },
    { role: 'tool', tool_call_id: 'c', content: 'no' },
    { role: 'assistant', content: 'Done.' },
  ]);
});

it.each([
  [file('image/*', new Uint8Array([1, 2])), { type: 'image_url', image_url: { url: 'data:image/jpeg;base64,AQI=' } }],
  [file('image/png', new URL('http://a.b/c')), { type: 'image_url', image_url: { url: 'http://a.b/c' } }],
  [file('audio/mpeg', 'QQ=='), { type: 'input_audio', input_audio: { data: 'QQ==', format: 'mp3' } }],
  [file('application/pdf', 'QQ=='), { type: 'file', file: { filename: 'document.pdf', file_data: 'data:application/pdf;base64,QQ==' } }],
  [file('text/csv', 'QUJD'), { type: 'text', text: 'ABC' }],
])('sends the file %o in the form of its kind', (part, as) => {
  expect(messages({ role: 'user', content: [{ type: 'text', text: 'see' }, part] })).toEqual([
    { role: 'user', content: [{ type: 'text', text: 'see' }, as] },
  ]);
});

it('refuses a file that the API has no form for', () => {
  expect(() => messages({ role: 'user', content: [file('video/mp4', 'QQ==')] })).toThrow(/takes no files of type video\/mp4/u);
});

it('sends the thinking effort by its name in this API', () => {
  const effortOf = (effort: string) => sent({ providerOptions: { pith: { effort } } })['reasoning_effort'];
  expect([effortOf('low'), effortOf('high'), effortOf('off')]).toEqual(['low', 'high', 'none']);
});
