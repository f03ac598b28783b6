import { describe, expect, it } from 'vitest';
import type { ModelPart } from 'pith';
import { modelFailure } from '../../../core/models/index.ts';
import { messagesModel } from '../../../sandbox/extensions/anthropic/messages-model.ts';
import { serverOf } from '../../places.ts';
import { userText } from '../model-parts.ts';

const event = (type: string, fields: object = {}) => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
const START = event('message_start', {
  message: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [],
    stop_reason: null,
    usage: { input_tokens: 3, output_tokens: 1 },
  },
});
const TEXT =
  event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }) +
  event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'a' } });
const STOP = event('content_block_stop', { index: 0 });
const REASON = event('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } });
const END = event('message_stop');
const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  stop_reason: 'tool_use',
  usage: { input_tokens: 3, output_tokens: 2 },
  content: [
    { type: 'thinking', thinking: 'hm', signature: 's' },
    { type: 'text', text: 'a' },
    { type: 'tool_use', id: 't1', name: 'f', input: { x: 1 } },
  ],
};

/** What comes of one answer with this status and body. */
async function told(body: string, status = 200): Promise<string> {
  const baseUrl = `${await serverOf((_request, response) => void response.writeHead(status, { 'content-type': 'text/event-stream' }).end(body))}/v1`;
  const model = messagesModel({ baseUrl, apiKey: 'k', keyName: 'K', headers: {}, guard: { allow: [baseUrl] } }, 'm');
  const words: string[] = [];
  const take = (part: ModelPart): void => {
    if (part.type === 'error') throw part.error;
    if (part.type === 'text-delta') words.push(`text ${part.delta}`);
    else if (part.type === 'reasoning-delta' && part.delta !== '') words.push(`thought ${part.delta}`);
    else if (part.type === 'tool-call') words.push(`${part.toolName}#${part.toolCallId} ${part.input}`);
    else if (part.type === 'finish') words.push(part.finishReason.unified, String(part.usage.outputTokens.total));
  };
  try {
    const { stream } = await model.doStream({ prompt: [userText('Hello')] });
    for await (const part of stream) take(part);
  } catch (error) {
    const failure = modelFailure(error, 'a/m');
    words.push(`${failure.retryable ? 'again' : 'error'} ${failure.message.replace('model a/m: ', '')}`);
  }
  return words.join(' | ');
}

describe('V7 what servers of the messages API send', () => {
  it.each([
    ['a stream', START + TEXT + STOP + REASON + END, 'text a | stop | 2'],
    [
      'CRLF, comments and heartbeats',
      `: x\n\n${START}event: ping\ndata: {}\n\ndata: null\n\ndata: ping\n\n${event('ping')}${TEXT}${STOP}${REASON}${END}data: [DONE]\n\n`.replaceAll(
        '\n',
        '\r\n',
      ),
      'text a | stop | 2',
    ],
    ['events that nobody knows', START + event('vendor_note', { text: 'x' }) + TEXT + STOP + REASON + END, 'text a | stop | 2'],
    ['a beginning that comes twice', START + START + TEXT + STOP + REASON + END, 'text a | stop | 2'],
    [
      'no usage',
      START.replace(/,"usage":\{[^}]*\}/, '') + TEXT + STOP + REASON.replace(/,"usage":\{[^}]*\}/, '') + END,
      'text a | stop | 0',
    ],
    ['no last event', START + TEXT + STOP + REASON, 'text a | stop | 2'],
    ['more after the last event', START + TEXT + STOP + REASON + END + TEXT, 'text a | stop | 2'],
    ['a message that is not streamed', JSON.stringify(MESSAGE, null, 2), 'thought hm | text a | f#t1 {"x":1} | tool-calls | 2'],
    ['a message as one event', `data: ${JSON.stringify(MESSAGE)}\n\n`, 'thought hm | text a | f#t1 {"x":1} | tool-calls | 2'],
    ['event: error at once', event('error', { error: { type: 'invalid_request_error', message: 'bad' } }), 'error bad'],
    [
      'an overload at once',
      event('error', { error: { type: 'overloaded_error', message: 'Overloaded' } }),
      'again the provider limits requests: Overloaded',
    ],
    [
      'an overload in the middle',
      START + TEXT + event('error', { error: { type: 'overloaded_error', message: 'Overloaded' } }),
      'text a | again the provider limits requests: Overloaded',
    ],
    ['an error as text', `${START}event: error\ndata: worker died\n\n`, 'error worker died'],
    ['JSON that is an error, with status 200', '{"type":"error","error":{"type":"api_error","message":"bad"}}', 'error bad'],
    ['an error of another kind, with status 200', '{"error":"model is broken"}', 'error model is broken'],
    [
      'a log-in page',
      '<!doctype html><title>Sign in</title>',
      "error the server sent no answer, but a web page ('Sign in'); check the address, and whether a log-in or a proxy is in the way",
    ],
    ['plain text', 'gone fishing', 'error the server sent no answer, but this: gone fishing'],
    ['the chunks of another API', 'data: {"choices":[]}\n\ndata: [DONE]\n\n', 'error the server sent no answer, but this: [DONE]'],
    ['nothing', '', 'again the server sent nothing'],
    ['an answer that breaks off', START + TEXT, 'text a | again the answer ended in the middle'],
    [
      'one that breaks off with words',
      `${START}${TEXT}out of memory`,
      'text a | again the answer ended in the middle; it sent: out of memory',
    ],
  ])('%s', async (_what, body, expected) => {
    expect(await told(body)).toBe(expected);
  });

  it.each([
    [400, '{"type":"error","error":{"type":"invalid_request_error","message":"bad"}}', 'error bad (400)'],
    [400, '{"detail":"no GPU"}', 'error no GPU (400)'],
    [422, '{"detail":[{"loc":["body","messages"],"msg":"field required"}]}', 'error body.messages: field required (422)'],
    [400, '{"message":"The provided model identifier is invalid."}', 'error The provided model identifier is invalid. (400)'],
    [502, '<html><head><title>502 Bad Gateway</title></head></html>', "again a web page ('502 Bad Gateway') (502)"],
    [400, '', 'error Bad Request (400)'],
  ])('status %i with %s', async (status, body, expected) => {
    expect(await told(body, status)).toBe(expected);
  });
});
