import { describe, expect, it } from 'vitest';
import type { ModelPart } from 'pith';
import { modelFailure } from '../../../core/models/index.ts';
import { chatStream } from '../../../sandbox/extensions/openai_compatible/chat-stream.ts';
import { ThinkTags } from '../../../sandbox/extensions/openai_compatible/think-tags.ts';

/** What servers were reported to send, each in its shortest form, and what is to be made of it. */
type Case = readonly [what: string, stream: string, expected: string];

const D = (delta: unknown, more: object = {}) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: null, ...more }] })}\n\n`;
const E = (reason: unknown = 'stop') => D({}, { finish_reason: reason });
const T = (content: unknown) => D({ content });
/** A piece of a call. */
const C = (index: unknown, id: unknown, name: unknown, args: unknown) =>
  D({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: args } }] });
const J = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`;
const CALLS = E('tool_calls');
const DONE = 'data: [DONE]\n\n';

async function* bytes(text: string, size: number): AsyncGenerator<Uint8Array> {
  const all = Buffer.from(text);
  for (let at = 0; at < all.length; at += size) yield all.subarray(at, at + size);
}

async function partsOf(stream: string, { size = 7, model = 'm' } = {}): Promise<ModelPart[]> {
  const found: ModelPart[] = [];
  for await (const part of chatStream(bytes(stream, size), { model, tools: new Set(['f', 'g', 'read_file']) })) found.push(part);
  return found;
}

/** Parts in few words; ids that were made here are `new`. An error as a person is told it. */
function told(parts: readonly ModelPart[]): string {
  const words: string[] = [];
  for (const part of parts) {
    if (part.type === 'text-delta' || part.type === 'reasoning-delta') {
      const kind = part.type === 'text-delta' ? 'text' : 'thought';
      if (words.at(-1)?.startsWith(`${kind} `)) words.push(words.pop() + part.delta);
      else words.push(`${kind} ${part.delta}`);
    } else if (part.type === 'tool-call')
      words.push(`${part.toolName}#${part.toolCallId.replace(/^call_[0-9a-f]{32}$/, 'new')} ${part.input}`);
    else if (part.type === 'error') {
      const failure = modelFailure(part.error, 'o/m');
      words.push(`${failure.retryable ? 'again' : 'error'} ${failure.message.replace('model o/m: ', '')}`);
    } else if (part.type === 'finish') words.push(part.finishReason.unified);
  }
  return words.join(' | ');
}

const CALL_CASES: readonly Case[] = [
  [
    'two calls that are both numbered 0 (Ollama)',
    C(0, 'c1', 'f', '{"a":1}') + C(0, 'c2', 'g', '{"b":2}') + CALLS,
    'f#c1 {"a":1} | g#c2 {"b":2} | tool-calls',
  ],
  [
    'the same tool twice, numbered 0',
    C(0, 'c1', 'f', '{"a":1}') + C(0, 'c2', 'f', '{"a":2}') + CALLS,
    'f#c1 {"a":1} | f#c2 {"a":2} | tool-calls',
  ],
  [
    'both numbered 0, in pieces',
    C(0, 'c1', 'f', '{"a"') + C(0, null, null, ':1}') + C(0, 'c2', 'g', '{"b"') + C(0, 'c2', null, ':2}') + CALLS,
    'f#c1 {"a":1} | g#c2 {"b":2} | tool-calls',
  ],
  [
    'two calls by turns, told apart by id',
    C(0, 'c1', 'f', '{"a"') + C(0, 'c2', 'g', '{"b"') + C(0, 'c1', '', ':1}') + C(0, 'c2', '', ':2}') + CALLS,
    'f#c1 {"a":1} | g#c2 {"b":2} | tool-calls',
  ],
  [
    'two calls by turns, told apart by index',
    C(0, 'c1', 'f', '') + C(1, 'c2', 'g', '') + C(1, null, null, '{"b":2}') + C(0, null, null, '{"a":1}') + CALLS,
    'f#c1 {"a":1} | g#c2 {"b":2} | tool-calls',
  ],
  [
    'no index (Gemini, older Ollama)',
    C(undefined, 'c1', 'f', '{"a":1}') + C(undefined, 'c2', 'g', '{}') + CALLS,
    'f#c1 {"a":1} | g#c2 {} | tool-calls',
  ],
  [
    'no index, in pieces',
    C(undefined, 'c1', 'f', '{"a"') + C(undefined, undefined, undefined, ':1}') + C(undefined, 'c2', 'g', '{}') + CALLS,
    'f#c1 {"a":1} | g#c2 {} | tool-calls',
  ],
  ['index null', C(null, 'c1', 'f', '{"a"') + C(null, null, null, ':1}') + CALLS, 'f#c1 {"a":1} | tool-calls'],
  ['index as text', C('0', 'c1', 'f', '{"a":1}') + C('1', 'c2', 'g', '{}') + CALLS, 'f#c1 {"a":1} | g#c2 {} | tool-calls'],
  [
    'index from 1, with a gap',
    C(1, 'c1', 'f', '{"a"') + C(7, 'c2', 'g', '{}') + C(1, null, null, ':1}') + CALLS,
    'f#c1 {"a":1} | g#c2 {} | tool-calls',
  ],
  ['no ids', C(0, null, 'f', '{"a":1}') + C(0, null, 'f', '{"a":2}') + CALLS, 'f#new {"a":1} | f#new {"a":2} | tool-calls'],
  ['no ids, tools without arguments', C(0, null, 'f', '') + C(0, null, 'g', '') + CALLS, 'f#new {} | g#new {} | tool-calls'],
  ['ids that are empty', C(0, '', 'f', '{}') + C(1, '', 'g', '{}') + CALLS, 'f#new {} | g#new {} | tool-calls'],
  [
    'an id that is empty from the second piece on (DashScope)',
    C(0, 'c1', 'f', '{') + C(0, '', '', '"a":1') + C(0, '', '', '}') + CALLS,
    'f#c1 {"a":1} | tool-calls',
  ],
  ['an id that comes late', C(0, null, 'f', '{"a"') + C(0, 'c1', null, ':1}') + CALLS, 'f#c1 {"a":1} | tool-calls'],
  [
    'another id with every piece (LM Studio)',
    C(0, 'c1', 'f', '{"a"') + C(0, 'x2', '', ':') + C(0, 'x3', null, '1}') + CALLS,
    'f#c1 {"a":1} | tool-calls',
  ],
  ['another id and the name with every piece', C(0, 'c1', 'f', '{"a"') + C(0, 'x2', 'f', ':1}') + CALLS, 'f#c1 {"a":1} | tool-calls'],
  ['one id for all calls', C(0, 'f', 'f', '{"a":1}') + C(1, 'f', 'f', '{"a":2}') + CALLS, 'f#f {"a":1} | f#new {"a":2} | tool-calls'],
  [
    'one id and one index for all calls',
    C(0, 'x', 'f', '{"a":1}') + C(0, 'x', 'g', '{"b":2}') + CALLS,
    'f#x {"a":1} | g#new {"b":2} | tool-calls',
  ],
  ['a number as id', C(0, 17, 'f', '{}') + CALLS, 'f#17 {} | tool-calls'],
  ['a name with every piece (MiniMax)', C(0, 'c1', 'f', '{"a"') + C(0, 'c1', 'f', ':1}') + CALLS, 'f#c1 {"a":1} | tool-calls'],
  ['a name with every piece, and no id', C(0, '', 'f', '{"a"') + C(0, '', 'f', ':1}') + CALLS, 'f#new {"a":1} | tool-calls'],
  [
    'a name in pieces (Gemini)',
    C(0, 'c1', 'read', '') + C(0, 'c1', '_file', '') + C(0, 'c1', null, '{"a":1}') + CALLS,
    'read_file#c1 {"a":1} | tool-calls',
  ],
  [
    'a name in pieces, the last with the arguments',
    C(0, 'c1', 'read_', '') + C(0, null, 'file', '{}') + CALLS,
    'read_file#c1 {} | tool-calls',
  ],
  ['a name that is longer each time', C(0, 'c1', 'read', '') + C(0, 'c1', 'read_file', '{}') + CALLS, 'read_file#c1 {} | tool-calls'],
  ['arguments before the name', C(0, 'c1', null, '{"a"') + C(0, 'c1', 'f', ':1}') + CALLS, 'f#c1 {"a":1} | tool-calls'],
  ['arguments as an object (Ollama)', C(0, 'c1', 'f', { a: 1 }) + CALLS, 'f#c1 {"a":1} | tool-calls'],
  ['arguments that are null', C(0, 'c1', 'f', null) + CALLS, 'f#c1 {} | tool-calls'],
  ['no arguments', D({ tool_calls: [{ index: 0, id: 'c1', function: { name: 'f' } }] }) + CALLS, 'f#c1 {} | tool-calls'],
  ['arguments that say null', C(0, 'c1', 'f', 'null') + CALLS, 'f#c1 {} | tool-calls'],
  ['arguments as an empty list (PHP)', C(0, 'c1', 'f', []) + CALLS, 'f#c1 {} | tool-calls'],
  ['arguments that are JSON within JSON', C(0, 'c1', 'f', '"{\\"a\\":1}"') + CALLS, 'f#c1 {"a":1} | tool-calls'],
  [
    '{} before the arguments (Anthropic behind gateways)',
    C(0, 'c1', 'f', '{}') + C(0, null, null, '{"a"') + C(0, null, null, ':1}') + CALLS,
    'f#c1 {"a":1} | tool-calls',
  ],
  ['{} that holds the place, named again', C(0, 'c1', 'f', {}) + C(0, 'c1', 'f', '{"a":1}') + CALLS, 'f#c1 {"a":1} | tool-calls'],
  [
    'all arguments again at the end (vLLM)',
    C(0, 'c1', 'f', '{"a"') + C(0, null, null, ':1}') + C(0, null, null, '{"a": 1}') + CALLS,
    'f#c1 {"a": 1} | tool-calls',
  ],
  [
    'all arguments again behind some of them (GLM)',
    C(0, 'c1', 'f', '{"a": 1,') + C(0, null, null, '{"a": 1, "b": 2}') + CALLS,
    'f#c1 {"a": 1, "b": 2} | tool-calls',
  ],
  ['the whole call again with its name', C(0, 'c1', 'f', '{"a":1}') + C(0, 'c1', 'f', '{"a": 1}') + CALLS, 'f#c1 {"a":1} | tool-calls'],
  ['arguments with blanks around', C(0, 'c1', 'f', '  {"a":1}\n') + CALLS, 'f#c1 {"a":1} | tool-calls'],
  ['brackets within texts', C(0, 'c1', 'f', '{"a":"}{\\""') + C(0, null, 'f', '}') + CALLS, 'f#c1 {"a":"}{\\""} | tool-calls'],
  ['arguments that are no object, for the model to hear', C(0, 'c1', 'f', '[1]') + CALLS, 'f#c1 [1] | tool-calls'],
  ['arguments that break off, for the model to hear', C(0, 'c1', 'f', '{"a":') + E('length'), 'f#c1 {"a": | length'],
  [
    'a call as an object instead of a list',
    D({ tool_calls: { id: 'c1', function: { name: 'f', arguments: '{}' } } }) + CALLS,
    'f#c1 {} | tool-calls',
  ],
  [
    'name and arguments without `function`',
    D({ tool_calls: [{ id: 'c1', name: 'f', arguments: { a: 1 } }] }) + CALLS,
    'f#c1 {"a":1} | tool-calls',
  ],
  [
    'odd things among the calls',
    D({ tool_calls: [null, 3, 'x', {}, { index: 0, id: 'c1', function: { name: 'f', arguments: '{}' } }] }) + CALLS,
    'f#c1 {} | tool-calls',
  ],
  [
    'function_call, as it was before there were several',
    D({ function_call: { name: 'f', arguments: '{"a"' } }) + D({ function_call: { arguments: ':1}' } }) + E('function_call'),
    'f#new {"a":1} | tool-calls',
  ],
  ['calls with `stop` (Ollama, Azure)', C(0, 'c1', 'f', '{}') + E('stop'), 'f#c1 {} | tool-calls'],
  [
    'calls and the end in one chunk',
    D({ tool_calls: [{ index: 0, id: 'c1', function: { name: 'f', arguments: '{"a":1}' } }] }, { finish_reason: 'tool_calls' }),
    'f#c1 {"a":1} | tool-calls',
  ],
  ['the end before the last arguments', C(0, 'c1', 'f', '{"a"') + CALLS + C(0, null, null, ':1}') + DONE, 'f#c1 {"a":1} | tool-calls'],
  ['two ends', C(0, 'c1', 'f', '{}') + CALLS + E('stop') + DONE, 'f#c1 {} | tool-calls'],
  ['no end, and [DONE]', C(0, 'c1', 'f', '{"a":1}') + DONE, 'f#c1 {"a":1} | other'],
  ['no end, [DONE], and half a call', C(0, 'c1', 'f', '{"a"') + DONE, 'again the answer ended in the middle | error'],
  ['a call that was cut', C(0, 'c1', 'f', '{"a":1}'), 'again the answer ended in the middle | error'],
  ['tool_calls: null and []', D({ content: 'a', tool_calls: null }) + D({ tool_calls: [] }) + E(), 'text a | stop'],
  ['`tool_calls` as the reason, and none', T('a') + CALLS, 'text a | other'],
];

const TEXT_CASES: readonly Case[] = [
  ['CRLF', (T('a') + E() + DONE).replaceAll('\n', '\r\n'), 'text a | stop'],
  ['CR alone', (T('a') + T('b') + E()).replaceAll('\n', '\r'), 'text ab | stop'],
  ['a byte order mark', `\ufeff${T('a')}${E()}`, 'text a | stop'],
  ['no blank after data:', (T('a') + E()).replaceAll('data: ', 'data:'), 'text a | stop'],
  ['no blank lines between (llama.cpp)', (T('a') + T('b') + E() + DONE).replaceAll('\n\n', '\n'), 'text ab | stop'],
  ['no last blank line', (T('a') + E()).trimEnd(), 'text a | stop'],
  ['data over several lines', 'data: {"choices":[{"delta":\ndata: {"content":"a"}}]}\n\n' + E(), 'text a | stop'],
  ['data: data: (gateways)', `data: ${T('a')}data: ${E()}`, 'text a | stop'],
  ['no data: at all, but JSON lines', (T('a') + T('b') + E()).replaceAll('data: ', '').replaceAll('\n\n', '\n'), 'text ab | stop'],
  [
    'comments (OpenRouter, DeepSeek, llama.cpp)',
    `: OPENROUTER PROCESSING\n\n: keep-alive\n\n:\n\n${T('a')}: ping\n\n${E()}`,
    'text a | stop',
  ],
  [
    'heartbeats',
    `data:\n\ndata: \n\ndata: {}\n\ndata: null\n\ndata: ""\n\ndata: ping\n\nevent: ping\ndata: {"type":"ping"}\n\ndata: []\n\n${T('a')}data: {}\n\n${E()}`,
    'text a | stop',
  ],
  ['event, id and retry beside data', `id: 1\nevent: message\nretry: 10\n${T('a')}${E()}`, 'text a | stop'],
  ['a chunk within a list', J([{ choices: [{ delta: { content: 'a' }, finish_reason: 'stop' }] }]), 'text a | stop'],
  [
    'choices: null (MiniMax) and [] (Azure)',
    J({ choices: null }) + J({ choices: [], prompt_filter_results: [] }) + T('a') + E(),
    'text a | stop',
  ],
  ['choices as an object', J({ choices: { delta: { content: 'a' }, finish_reason: 'stop' } }), 'text a | stop'],
  ['no delta (Azure), delta: null', J({ choices: [{ index: 0, content_filter_results: {} }] }) + D(null) + T('a') + E(), 'text a | stop'],
  ['message instead of delta', J({ choices: [{ message: { content: 'a' }, finish_reason: 'stop' }] }), 'text a | stop'],
  ['the role alone, content null', D({ role: 'assistant', content: null }) + T('a') + E(), 'text a | stop'],
  [
    'content in parts',
    T([{ type: 'text', text: 'a' }, 'b', null, { type: 'text', text: { value: 'c' } }, { type: 'image_url' }]) + E(),
    'text abc | stop',
  ],
  ['content as an object', T({ type: 'text', text: 'a' }) + E(), 'text a | stop'],
  [
    'a second answer',
    T('a') +
      J({
        choices: [
          { index: 1, delta: { content: 'other' } },
          { index: 0, delta: { content: 'b' } },
        ],
      }) +
      E() +
      D({}, { index: 1, finish_reason: 'length' }),
    'text ab | stop',
  ],
  ['answers counted from 1', D({ content: 'a' }, { index: 1 }) + D({}, { index: 1, finish_reason: 'stop' }), 'text a | stop'],
  [
    'no index of the answer',
    J({ choices: [{ delta: { content: 'a' } }] }) + J({ choices: [{ delta: {}, finish_reason: 'stop' }] }),
    'text a | stop',
  ],
  ['a refusal', D({ refusal: 'I cannot' }) + E(), 'text I cannot | stop'],
  [
    'finish_reason: "" in every chunk (Ollama, SGLang)',
    D({ content: 'a' }, { finish_reason: '' }) + D({ content: 'b' }, { finish_reason: '' }) + E(),
    'text ab | stop',
  ],
  ['no finish_reason, and [DONE]', T('a') + DONE, 'text a | other'],
  ['finish_reason in capitals', T('a') + E('STOP'), 'text a | stop'],
  ['eos_token (TGI), end_turn (Bedrock)', T('a') + E('eos_token') + E('end_turn'), 'text a | stop'],
  ['max_tokens, model_length (Mistral)', T('a') + E('MAX_TOKENS') + E('model_length'), 'text a | length'],
  ['sensitive (GLM)', T('a') + E('sensitive'), 'text a | content-filter'],
  ['finish_reason as an object', T('a') + E({ type: 'stop' }) + DONE, 'text a | other'],
  ['the end with the last text', D({ content: 'a' }, { finish_reason: 'stop' }), 'text a | stop'],
  ['text after the end', T('a') + E() + T('b') + DONE, 'text ab | stop'],
  ['text after [DONE], [DONE] twice', T('a') + E() + DONE + T('b') + DONE, 'text a | stop'],
  ['[DONE] without blank, with one, in quotes', T('a') + 'data:[DONE] \n\n', 'text a | other'],
  [
    'an answer that is not streamed',
    JSON.stringify({
      object: 'chat.completion',
      choices: [{ index: 0, message: { role: 'assistant', content: 'a' }, finish_reason: 'stop' }],
    }),
    'text a | stop',
  ],
  [
    'one over many lines, with calls',
    JSON.stringify(
      {
        choices: [
          {
            message: { content: null, tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }] },
            finish_reason: 'tool_calls',
          },
        ],
      },
      null,
      2,
    ),
    'f#c1 {"a":1} | tool-calls',
  ],
  [
    'one with [DONE] behind it',
    `${JSON.stringify({ choices: [{ message: { content: 'a' }, finish_reason: 'stop' }] })}\n\n${DONE}`,
    'text a | stop',
  ],
  [
    'one as a single event',
    J({ object: 'chat.completion', choices: [{ message: { content: 'a' }, finish_reason: 'stop' }] }) + DONE,
    'text a | stop',
  ],
  ['one without a reason', JSON.stringify({ choices: [{ message: { content: 'a' } }] }), 'text a | other'],
];

const THOUGHT_CASES: readonly Case[] = [
  ['reasoning_content, reasoning', D({ reasoning_content: 'h' }) + D({ reasoning: 'm' }) + T('a') + E(), 'thought hm | text a | stop'],
  ['both with the same text', D({ reasoning_content: 'hm', reasoning: 'hm' }) + T('a') + E(), 'thought hm | text a | stop'],
  [
    'reasoning_details (OpenRouter)',
    D({
      reasoning_details: [
        { type: 'reasoning.summary', summary: 'h' },
        { type: 'reasoning.text', text: 'm' },
        { type: 'reasoning.encrypted', data: 'x' },
      ],
    }) +
      T('a') +
      E(),
    'thought hm | text a | stop',
  ],
  [
    'reasoning beside reasoning_details',
    D({ reasoning: 'hm', reasoning_details: [{ text: 'hm' }] }) + T('a') + E(),
    'thought hm | text a | stop',
  ],
  [
    'thinking among the parts of content (Mistral)',
    T([
      { type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] },
      { type: 'text', text: 'a' },
    ]) + E(),
    'thought hm | text a | stop',
  ],
  ['reasoning: null and ""', D({ reasoning: null, reasoning_content: '', content: 'a' }) + E(), 'text a | stop'],
  ['<think> inline', T('<think>hm</think>\n\na') + E(), 'thought hm | text a | stop'],
  ['<think> in small pieces', [...'<think>h<m</think>\n\na'].map(T).join('') + E(), 'thought h<m | text a | stop'],
  ['<think> behind blanks', T('\n ') + T('<thi') + T('nk>hm</thi') + T('nk>a') + E(), 'thought hm | text a | stop'],
  ['nothing thought', T('<think>\n\n</think>\n\na') + E(), 'thought \n\n | text a | stop'],
  ['<think> that is not closed', T('<think>hm') + E('length'), 'thought hm | length'],
  ['half a closing tag at the end', T('<think>hm</thi') + E(), 'thought hm</thi | stop'],
  ['two thoughts at the beginning', T('<think>a</think><think>b</think>c') + E(), 'thought ab | text c | stop'],
  ['other tags', T('<thinking>hm</thinking>a') + E(), 'thought hm | text a | stop'],
  ['[THINK] (Mistral)', T('[THINK]hm[/THINK]a') + E(), 'thought hm | text a | stop'],
  ['an answer that quotes the tag', T('Write <think>x</think> first') + E(), 'text Write <think>x</think> first | stop'],
  ['one that quotes the closing tag', T('It ends with </think> always') + E(), 'text It ends with </think> always | stop'],
  ['one that begins like a tag', T('<th') + T('ead>') + E(), 'text <thead> | stop'],
  ['nothing but the beginning of a tag', T('<thi') + E(), 'text <thi | stop'],
  ['<think> and a call', T('<think>hm</think>') + C(0, 'c1', 'f', '{}') + CALLS, 'thought hm | f#c1 {} | tool-calls'],
  [
    '<think> in an answer that is not streamed',
    JSON.stringify({ choices: [{ message: { content: '<think>hm</think>a' }, finish_reason: 'stop' }] }),
    'thought hm | text a | stop',
  ],
];

const ERROR_CASES: readonly Case[] = [
  [
    '{"error": {…}}',
    J({ error: { message: 'no such tool', type: 'invalid_request_error', code: 400 } }),
    'error no such tool (400) | error',
  ],
  ['{"error": "text"} (Ollama)', J({ error: 'model is broken' }), 'error model is broken | error'],
  ['{"error": true, "message"}', J({ error: true, message: 'bad' }), 'error bad | error'],
  [
    '{"object": "error"} (vLLM)',
    J({ object: 'error', message: 'too deep', type: 'BadRequestError', code: 400 }) + DONE,
    'error too deep (400) | error',
  ],
  ['{"detail": …} (FastAPI)', J({ detail: 'no GPU' }), 'error no GPU | error'],
  [
    '{"detail": […]}',
    J({ detail: [{ loc: ['body', 'messages', 0], msg: 'field required', type: 'missing' }] }),
    'error body.messages.0: field required | error',
  ],
  ['{"message", "code"} without choices', J({ code: 500, message: 'boom' }), 'again boom (500) | error'],
  ['{"success": false}', J({ success: false, error: { code: 'X', message: 'nope' } }), 'error nope | error'],
  ['base_resp (MiniMax)', J({ choices: null, base_resp: { status_code: 1004, status_msg: 'login fail' } }), 'error login fail | error'],
  [
    'base_resp that says all is well',
    J({ choices: [{ delta: { content: 'a' }, finish_reason: 'stop' }], base_resp: { status_code: 0, status_msg: '' } }),
    'text a | stop',
  ],
  [
    'error: null, "" and {}',
    J({ error: null, choices: [{ delta: { content: 'a' } }] }) + J({ error: '', choices: [] }) + J({ error: {}, choices: [] }) + E(),
    'text a | stop',
  ],
  [
    'an error beside choices (OpenRouter)',
    J({
      error: { code: 502, message: 'Provider returned error', metadata: { raw: '{"error":{"message":"pool is full"}}' } },
      choices: [{ delta: {}, finish_reason: 'error' }],
    }),
    'again Provider returned error: pool is full (502) | error',
  ],
  [
    'an error within a choice',
    J({ choices: [{ index: 0, delta: {}, error: { code: 400, message: 'bad' }, finish_reason: 'error' }] }),
    'error bad (400) | error',
  ],
  [
    'event: error (LM Studio)',
    `event: error\n${J({ error: { message: 'Trying to keep the first 9 tokens' }, message: 'x' })}`,
    'error Trying to keep the first 9 tokens | error',
  ],
  ['event: error with text', 'event: error\ndata: out of memory\n\n', 'error out of memory | error'],
  ['event: error with nothing', 'event: error\ndata:\n\n', 'error the server reports an error without a reason | error'],
  [
    'error: instead of data: (llama.cpp)',
    'error: {"code":400,"message":"the request exceeds the available context size","type":"x"}\n\n' + DONE,
    'error the conversation is longer than the model can take | error',
  ],
  ['an error after text', T('a') + J({ error: { message: 'boom' } }) + T('b') + E(), 'text a | error boom | error'],
  ['an error and no more', T('a') + J({ error: 'x' }) + J({ error: 'y' }), 'text a | error x | error'],
  [
    'an overload',
    J({ error: { message: 'Overloaded', type: 'overloaded_error' } }),
    'again the provider limits requests: Overloaded | error',
  ],
  [
    'a status within the error',
    J({ error: { message: 'slow down', code: '429' } }),
    'again the provider limits requests (429): slow down | error',
  ],
  [
    'a quota that is used up',
    J({ error: { message: 'You exceeded your current quota', code: 'insufficient_quota' } }),
    'error the provider limits requests: You exceeded your current quota | error',
  ],
  ['finish_reason: "error"', T('a') + E('error'), 'text a | error the server ended the answer with an error | error'],
  ['finish_reason: "abort" (SGLang)', E('abort'), 'error the server ended the answer with an error (abort) | error'],
  [
    'insufficient_system_resource (DeepSeek)',
    E('insufficient_system_resource'),
    'again the server ended the answer with an error (insufficient_system_resource) | error',
  ],
  ['network_error (GLM)', E('network_error'), 'again the server ended the answer with an error (network_error) | error'],
  ['a body of JSON that is an error', JSON.stringify({ error: { message: 'no GPU here' } }, null, 2), 'error no GPU here | error'],
  [
    'a list with an error (Gemini)',
    JSON.stringify([{ error: { code: 400, message: 'Invalid JSON payload', status: 'INVALID_ARGUMENT' } }]),
    'error Invalid JSON payload (400) | error',
  ],
  [
    'a log-in page',
    '<!DOCTYPE html>\n<html><head><title>Sign in &mdash;\n Corp</title></head>\n\n<body>data</body></html>',
    "error the server sent no answer, but a web page ('Sign in &mdash; Corp'); check the address, and whether a log-in or a proxy is in the way | error",
  ],
  ['plain text', 'upstream is asleep', 'error the server sent no answer, but this: upstream is asleep | error'],
  ['text that a terminal would obey', '\u001b[2Jgone\u202e', 'error the server sent no answer, but this: \\x1b[2Jgone\\u{202e} | error'],
  [
    'JSON that is no answer',
    '{"response":"a","done":true}',
    'error the server sent no answer, but this: {"response":"a","done":true} | error',
  ],
  ['nothing', '', 'again the server sent nothing | error'],
  ['[DONE] alone', DONE, 'error the server sent an empty answer | error'],
  ['comments alone', ': ping\n\n: ping\n\n', 'again the server sent nothing | error'],
  ['an answer that breaks off', T('a'), 'text a | again the answer ended in the middle | error'],
  [
    'one that breaks off in the middle of a chunk',
    T('a') + T('b').slice(0, 20),
    'text a | again the answer ended in the middle; it sent: {"choices":[{" | error',
  ],
  [
    'one that breaks off with words',
    T('a') + 'internal failure',
    'text a | again the answer ended in the middle; it sent: internal failure | error',
  ],
  [
    'one that breaks off with an error without data:',
    T('a') + '{"error":{"message":"worker died"}}\n',
    'text a | error worker died | error',
  ],
];

describe.each([
  ['V3 calls', CALL_CASES],
  ['V8 text', TEXT_CASES],
  ['V8 thoughts', THOUGHT_CASES],
  ['V7 errors', ERROR_CASES],
])('%s', (_what, cases) => {
  it.each(cases)('%s', async (_case, stream, expected) => {
    expect(told(await partsOf(stream))).toBe(expected);
    expect(told(await partsOf(stream, { size: 1 }))).toBe(expected); // wherever the network cuts it, also within a letter
  });
});

it.each([
  ['only the closing tag', T('hm') + T(' hm</th') + T('ink>\n\na') + E(), 'thought hm hm | text a | stop'],
  ['no tag at all', T('a') + T('b') + E(), 'text ab | stop'],
  ['thoughts set apart by the server', D({ reasoning_content: 'hm' }) + T('a </think> b') + E(), 'thought hm | text a </think> b | stop'],
  ['the closing tag with a line of its own', T('hm\n</think>') + T('a') + E(), 'thought hm\n | text a | stop'],
  ['the closing tag as its last', T('hm</think>') + E(), 'thought hm | stop'],
  ['6 a closing tag that is quoted', T('Write `</thi') + T('nk>` last') + E(), 'text Write `</think>` last | stop'],
  ['6 both tags quoted', T('So:\n<think>\nhm\n</think>\na') + E(), 'text So:\n<think>\nhm\n</think>\na | stop'],
] satisfies readonly Case[])('V8 of a model that is known to think without an opening tag: %s', async (_what, stream, expected) => {
  expect(told(await partsOf(stream, { model: 'qwen3-4b-thinking-2507' }))).toBe(expected);
});

it.each([
  'grok-4-1-fast-reasoning',
  'grok-4-1-fast-non-reasoning',
  'no-think-3b',
  'nonthinking',
  'x/qwen_no_thinking',
  'r-thinking-off',
  'm',
])('6 V8 %s is shown while it speaks, where the server sends no thoughts', async (model) => {
  const tags = new ThinkTags(model);
  const isHeld = model === 'grok-4-1-fast-reasoning';
  expect(tags.feed('a')).toEqual(isHeld ? [] : [['text', 'a']]);
  const more = 'b'.repeat(4000);
  expect(tags.feed(more)).toEqual([['text', isHeld ? `a${more}` : more]]);
  expect(tags.feed('\n</think>\nc')).toEqual([['text', '\n</think>\nc']]);
  expect(tags.end()).toEqual([]);
});

it.each([
  ['choices[0].usage (Kimi)', D({}, { finish_reason: 'stop', usage: { prompt_tokens: 3, completion_tokens: 2 } }), [3, 2]],
  [
    'x_groq.usage',
    J({ choices: [{ delta: {}, finish_reason: 'stop' }], x_groq: { usage: { prompt_tokens: 3, completion_tokens: 2 } } }),
    [3, 2],
  ],
  [
    'with every chunk, null at last',
    J({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 1 } }) +
      E() +
      J({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 2 } }) +
      J({ choices: [], usage: null }),
    [3, 2],
  ],
  ['without choices', E() + J({ usage: { prompt_tokens: 3, completion_tokens: 2 } }), [3, 2]],
  [
    'of odd types',
    E() + J({ choices: [], usage: { prompt_tokens: '3', completion_tokens: -1, prompt_tokens_details: 7 } }),
    [undefined, undefined],
  ],
])('V8 usage: %s', async (_what, stream, [input, output]) => {
  expect((await partsOf(T('a') + stream)).at(-1)).toMatchObject({
    usage: { inputTokens: { total: input }, outputTokens: { total: output } },
  });
});

it('V3 reads a call in pieces that all look like its end in the time that they take to come', async () => {
  const parts = await partsOf(C(0, 'c1', 'f', '{}}').repeat(20_000) + CALLS, { size: 65_536 });
  expect(parts.find(({ type }) => type === 'tool-call')).toMatchObject({ input: '{}}'.repeat(20_000) });
});
