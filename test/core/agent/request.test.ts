import { createAnthropic } from '@ai-sdk/anthropic';
import fc from 'fast-check';
import type { JsonValue, Message } from 'pith';
import { describe, expect, it } from 'vitest';
import { madeBy, ModelPrompt } from '../../../core/agent/index.ts';
import { chatRequest } from '../../../sandbox/extensions/openai_compatible/chat-request.ts';
import type { MessagesBody } from '../../fixtures/anthropic-server.ts';
import { gif, jpeg, png } from '../../fixtures/images.ts';
import type { ChatBody } from '../../fixtures/openai-server.ts';
import { STRICT } from '../../fixtures/strict-servers.ts';

type Answer = Extract<Message, { role: 'assistant' }>;
type Parts = Answer['content'];

const OWN = 'maker/model';
const text = (said: string) => ({ type: 'text' as const, text: said });
const user = (...texts: string[]): Message => ({ role: 'user', content: texts.map(text) });
const answer = (...content: Parts): Answer => ({ role: 'assistant', content });
const said = (words: string) => answer(text(words));
const call = (toolCallId: string, toolName = 'look', input: unknown = {}) => ({
  type: 'tool-call' as const,
  toolCallId,
  toolName,
  input: input as JsonValue,
});
const result = (toolCallId: string, value = 'seen', toolName = 'look') => ({
  type: 'tool-result' as const,
  toolCallId,
  toolName,
  output: { type: 'text' as const, value },
});
const results = (...content: Extract<Message, { role: 'tool' }>['content']): Message => ({ role: 'tool', content });
const own = (message: Answer) => madeBy(message, OWN);
const signed = { anthropic: { signature: 'of-maker' }, google: { thoughtSignature: 'of-maker' } };

const sentOf = (messages: readonly Message[], ref = OWN) => new ModelPrompt('', messages, { ref }).sent();
/** Roles, and what is in each: texts, `name(id)input` of calls, `id=value` of results. */
const told = (messages: readonly Message[]) =>
  messages.map((message) => `${message.role} ${[message.content].flat().map(partOf).join(' | ')}`);
const partOf = (part: string | Exclude<Message, { role: 'system' }>['content'][number]): string => {
  if (typeof part === 'string') return part;
  if (part.type === 'tool-call') return `${part.toolName}(${part.toolCallId})${JSON.stringify(part.input)}`;
  if (part.type === 'tool-result')
    return `${part.toolCallId}=${part.output.type === 'text' ? part.output.value : JSON.stringify((part.output as { value?: unknown }).value)}`;
  return 'text' in part ? part.text : part.type;
};
const UNKNOWN = '{"error":{"code":"interrupted","message":"its outcome was not kept; check before calling it again"}}';

/** All are what the model itself wrote; `~` in an expected id: it was changed to one that every server takes. */
const CASES: readonly (readonly [title: string, given: readonly Message[], expected: readonly string[]])[] = [
  [
    'a call without an answer',
    [user('q'), own(answer(call('a'))), user('on')],
    ['user q', 'assistant look(a){}', `tool a=${UNKNOWN}`, 'assistant (stopped here)', 'user on'],
  ],
  [
    'one of two without an answer',
    [user('q'), own(answer(call('a'), call('b'))), results(result('b')), user('on')],
    ['user q', 'assistant look(a){} | look(b){}', `tool b=seen | a=${UNKNOWN}`, 'assistant (stopped here)', 'user on'],
  ],
  ['the last call without an answer', [user('q'), own(answer(call('a')))], ['user q', 'assistant look(a){}', `tool a=${UNKNOWN}`]],
  [
    'a second answer',
    [user('q'), own(answer(call('a'))), results(result('a'), result('a', 'again')), own(said('so'))],
    ['user q', 'assistant look(a){}', 'tool a=seen', 'assistant so', 'user (go on)'],
  ],
  [
    'a second answer in a message of its own',
    [user('q'), own(answer(call('a'))), results(result('a')), results(result('a')), user('on')],
    ['user q', 'assistant look(a){}', 'tool a=seen', 'assistant (stopped here)', 'user on'],
  ],
  ['a result that nobody asked for', [user('q'), results(result('x')), own(said('so')), user('on')], ['user q', 'assistant so', 'user on']],
  [
    'a result after another message',
    [user('q'), own(answer(call('a'))), user('wait'), results(result('a')), own(said('so')), user('on')],
    ['user q', 'assistant look(a){}', `tool a=${UNKNOWN}`, 'assistant (stopped here)', 'user wait', 'assistant so', 'user on'],
  ],
  [
    'answers in two messages',
    [user('q'), own(answer(call('a'), call('b'))), results(result('b')), results(result('a')), user('on')],
    ['user q', 'assistant look(a){} | look(b){}', 'tool b=seen | a=seen', 'assistant (stopped here)', 'user on'],
  ],
  [
    'two calls of one id',
    [user('q'), own(answer(call('a'), call('a'))), results(result('a', '1'), result('a', '2'))],
    ['user q', 'assistant look(a){} | look(~){}', 'tool a=1 | ~=2'],
  ],
  [
    'an id again in a later step',
    [user('q'), own(answer(call('a'))), results(result('a')), own(answer(call('a'))), results(result('a'))],
    ['user q', 'assistant look(a){}', 'tool a=seen', 'assistant look(~){}', 'tool ~=seen'],
  ],
  ['no id', [user('q'), own(answer(call(''))), results(result(''))], ['user q', 'assistant look(~){}', 'tool ~=seen']],
  [
    'the ids of Kimi',
    [user('q'), own(answer(call('functions.look:0'))), results(result('functions.look:0'))],
    ['user q', 'assistant look(functions.look:0){}', 'tool functions.look:0=seen'],
  ],
  ...['a\nb', 'x'.repeat(4000), '\ud800', 'größe', 'a b'].map(
    (id) =>
      [
        `an own id that no server makes: ${JSON.stringify(id.slice(0, 9))}`,
        [user('q'), own(answer(call(id))), results(result(id))],
        ['user q', 'assistant look(~){}', 'tool ~=seen'],
      ] as const,
  ),
  [
    'the ids of another model',
    [user('q'), answer(call('functions.look:0')), results(result('functions.look:0'))],
    ['user q', 'assistant look(~){}', 'tool ~=seen'],
  ],
  [
    'an id of 65 letters of another',
    [user('q'), madeBy(answer(call('x'.repeat(65))), 'other/model'), results(result('x'.repeat(65)))],
    ['user q', 'assistant look(~){}', 'tool ~=seen'],
  ],
  [
    'an id that all take',
    [user('q'), madeBy(answer(call('D681PevKs')), 'other/model'), results(result('D681PevKs'))],
    ['user q', 'assistant look(D681PevKs){}', 'tool D681PevKs=seen'],
  ],
  [
    'an id with a lone surrogate',
    [user('q'), own(answer(call('a\ud83d'))), results(result('a\ud83d'))],
    ['user q', 'assistant look(~){}', 'tool ~=seen'],
  ],
  [
    'no name',
    [user('q'), own(answer(call('a', ''))), results(result('a', 'seen', ''))],
    ['user q', 'assistant unnamed(a){}', 'tool a=seen'],
  ],
  [
    'a name with a dot',
    [user('q'), own(answer(call('a', 'functions.read_file'))), results(result('a'))],
    ['user q', 'assistant functions_read_file(a){}', 'tool a=seen'],
  ],
  [
    'a name of 300 letters',
    [user('q'), own(answer(call('a', 'n'.repeat(300)))), results(result('a'))],
    ['user q', `assistant ${'n'.repeat(64)}(a){}`, 'tool a=seen'],
  ],
  [
    'a name in another script',
    [user('q'), own(answer(call('a', '读取 file'))), results(result('a'))],
    ['user q', 'assistant _file(a){}', 'tool a=seen'],
  ],
  [
    'a name with what ends a tag',
    [user('q'), own(answer(call('a', 'look<|channel|>json'))), results(result('a'))],
    ['user q', 'assistant look_channel_json(a){}', 'tool a=seen'],
  ],
  [
    'arguments that are a text',
    [user('q'), own(answer(call('a', 'look', '{"path": "x'))), results(result('a'))],
    ['user q', 'assistant look(a){}', 'tool a=seen'],
  ],
  [
    'arguments that are a list',
    [user('q'), own(answer(call('a', 'look', ['x']))), results(result('a'))],
    ['user q', 'assistant look(a){}', 'tool a=seen'],
  ],
  [
    'arguments that are null',
    [user('q'), own(answer(call('a', 'look', null))), results(result('a'))],
    ['user q', 'assistant look(a){}', 'tool a=seen'],
  ],
  [
    'a NUL and a lone surrogate in arguments',
    [user('q'), own(answer(call('a', 'look', { 'k\0': ['x\0', { y: 'z\udc00' }] }))), results(result('a'))],
    ['user q', 'assistant look(a){"k�":["x�",{"y":"z�"}]}', 'tool a=seen'],
  ],
  ['a NUL in texts', [user('q\0'), own(said('so\ud800')), user('on')], ['user q�', 'assistant so�', 'user on']],
  ['a NUL in a result', [user('q'), own(answer(call('a'))), results(result('a', 'b\0'))], ['user q', 'assistant look(a){}', 'tool a=b�']],
  [
    'an empty result',
    [user('q'), own(answer(call('a'))), results(result('a', ''))],
    ['user q', 'assistant look(a){}', 'tool a=(no output)'],
  ],
  [
    'a result of empty parts',
    [user('q'), own(answer(call('a'))), results({ ...result('a'), output: { type: 'content', value: [text(' \n')] } })],
    ['user q', 'assistant look(a){}', 'tool a=(no output)'],
  ],
  ['an answer without parts', [user('q'), own(answer()), user('on')], ['user q | on']],
  ['an answer of blanks', [user('q'), own(said('\n\n')), user('on')], ['user q | on']],
  [
    'blanks before a call',
    [user('q'), own(answer(text('\n\n'), call('a'))), results(result('a'))],
    ['user q', 'assistant look(a){}', 'tool a=seen'],
  ],
  ['reasoning alone', [user('q'), own(answer({ type: 'reasoning', text: 'hm' })), user('on')], ['user q | on']],
  [
    'reasoning of its own',
    [user('q'), own(answer({ type: 'reasoning', text: 'hm', providerOptions: signed }, text('so'))), user('on')],
    ['user q', 'assistant hm | so', 'user on'],
  ],
  [
    'reasoning of another',
    [user('q'), madeBy(answer({ type: 'reasoning', text: 'hm', providerOptions: signed }, text('so')), 'other/model'), user('on')],
    ['user q', 'assistant so', 'user on'],
  ],
  [
    'reasoning of nobody knows whom',
    [user('q'), answer({ type: 'reasoning', text: 'hm' }, text('so')), user('on')],
    ['user q', 'assistant so', 'user on'],
  ],
  [
    'what a provider ran itself',
    [user('q'), own(answer({ ...call('s'), providerExecuted: true }, result('s'), text('so'))), user('on')],
    ['user q', 'assistant so', 'user on'],
  ],
  ['an empty part of a message', [user('', 'q'), own(said('so')), user('on')], ['user q', 'assistant so', 'user on']],
  ['an empty message', [user(' '), own(said('so')), user('on')], ['user (an empty message)', 'assistant so', 'user on']],
  ['two messages of the user', [user('q'), user('r')], ['user q | r']],
  ['two answers', [user('q'), own(said('a')), own(said('b')), user('on')], ['user q', 'assistant a | b', 'user on']],
  ['an answer first', [own(said('a')), user('on')], ['user (what was said before is gone)', 'assistant a', 'user on']],
  ['an answer last, with blanks at its end', [user('q'), own(said('so \n'))], ['user q', 'assistant so \n', 'user (go on)']],
  [
    'system messages first',
    [{ role: 'system', content: 'A\0' }, { role: 'system', content: 'B' }, user('q')],
    ['system A�\n\nB', 'user q'],
  ],
  [
    'a system message in between',
    [user('q'), own(said('a')), { role: 'system', content: 'be short' }],
    ['user q', 'assistant a', 'user be short'],
  ],
];

const RUNS = process.env['PITH_TEST_LONG'] === '1' ? 10_000 : 200;
const STRICTEST = /^[a-zA-Z0-9]{9}$/u;

/** What servers of three kinds say to a conversation as their providers write it; null: they take it. */
const said3 = async (messages: readonly Message[]) => {
  const prompt: Message[] = messages[0]?.role === 'system' ? [...messages] : [{ role: 'system', content: 'S' }, ...messages];
  const chat = chatRequest('m', { prompt }, false).body as unknown as ChatBody;
  return [STRICT.openai(chat), STRICT.mistral(chat), STRICT.anthropic(await messagesBody(prompt))];
};
const TAKEN = [null, null, null];

/** What the package sends that speaks to Anthropic. */
async function messagesBody(prompt: Message[]): Promise<MessagesBody> {
  let body = '';
  const fetch = async (_url: unknown, init?: RequestInit) => {
    body = String(init?.body);
    return new Response('{}', { status: 400 });
  };
  await Promise.resolve(createAnthropic({ apiKey: 'k', fetch }).languageModel('claude-sonnet-4-5').doStream({ prompt })).catch(
    () => undefined,
  );
  return JSON.parse(body) as MessagesBody;
}

describe('V1 what is stored is written as its model takes it', () => {
  it.each(CASES)('%s', async (_, given, expected) => {
    const sent = sentOf(given);
    const ids = [...JSON.stringify(sent).matchAll(/"toolCallId":"([^"]*)"/gu)].map(([, id]) => id as string);
    const asked = new Set(
      given.flatMap(({ role, content }) =>
        role === 'assistant' ? content.flatMap((part) => (part.type === 'tool-call' ? part.toolCallId : [])) : [],
      ),
    );
    const changed = ids.filter((id) => !asked.has(id));
    expect(changed.every((id) => STRICTEST.test(id))).toBe(true);
    expect(told(sent).map((line) => changed.reduce((shown, id) => shown.replaceAll(id, '~'), line))).toEqual(expected);
    // For another model nothing is its own: the strictest servers take it, and it is the same each time.
    const foreign = sentOf(given, 'another/model');
    expect(foreign).toEqual(sentOf(given, 'another/model'));
    expect(await said3(foreign)).toEqual(TAKEN);
  });

  it('V1 marks of one server are not sent to another', () => {
    const marked = answer({ ...text('so'), providerOptions: signed }, { ...call('a'), providerOptions: signed });
    const history = [user('q'), own(marked), results(result('a'))];
    expect(JSON.stringify(sentOf(history)).split('of-maker')).toHaveLength(5);
    expect(JSON.stringify(sentOf(history, 'another/model'))).not.toContain('of-maker');
  });

  it('V1 a conversation without a fault is sent as it is stored, the very objects', () => {
    const history = [
      user('q'),
      own(answer(text('I look'), call('call_0fypS1hVX', 'look', { path: 'a', list: [1, 'é'] }))),
      results(result('call_0fypS1hVX')),
      own(answer({ type: 'reasoning', text: 'hm', providerOptions: signed }, text('so'))),
      user('on'),
    ];
    const prompt = new ModelPrompt('S', history, { ref: OWN });
    expect(prompt.sent()).toBe(prompt.messages);
    expect(prompt.messages.slice(1).map((message, at) => message === history[at])).toEqual([true, true, true, true, true]);
  });

  it('V1 what was sent keeps its bytes while the conversation grows', () => {
    const steps = CASES.flatMap(([, given]) => given);
    const prompt = new ModelPrompt('S', [], { ref: 'another/model' });
    let before: readonly string[] = [];
    for (const message of steps) {
      prompt.add(message);
      const now = prompt.messages.map((each) => JSON.stringify(each));
      const fixed = Math.max(0, before.length - 1); // the last may grow: neighbours become one
      expect(now.slice(0, fixed)).toEqual(before.slice(0, fixed));
      before = now;
    }
    expect(new ModelPrompt('S', steps, { ref: 'another/model' }).messages).toEqual(prompt.messages);
  });

  it('V1 an id that its own server refused is written as all take it', async () => {
    const history = [user('q'), own(answer(call('call_0fypS1hVX'))), results(result('call_0fypS1hVX'))];
    expect(await said3(sentOf(history))).toEqual([null, expect.stringContaining('must match'), null]);
    expect(await said3(new ModelPrompt('', history, { ref: OWN, keepsIds: false }).sent())).toEqual(TAKEN);
  });

  it('V1 any order of any messages is one that strict servers take', async () => {
    const odd = fc.constantFrom('', 'a', 'b', 'functions.x:0', 'a b', '\0', '\ud800', 'x'.repeat(65));
    const part = fc.oneof(
      odd.map(text),
      odd.map((each) => ({ type: 'reasoning' as const, text: each })),
      fc.tuple(odd, odd, fc.constantFrom<unknown>({}, [], null, 'x', 3, { k: '\0' })).map(([id, name, input]) => call(id, name, input)),
    );
    const message = fc.oneof(
      fc.array(odd, { maxLength: 2 }).map((texts) => user(...texts)),
      fc.array(part, { maxLength: 3 }).map((parts) => answer(...parts)),
      fc.array(part, { maxLength: 3 }).map((parts) => own(answer(...parts))),
      fc.array(fc.tuple(odd, odd), { maxLength: 3 }).map((all) => results(...all.map(([id, value]) => result(id, value, id)))),
    );
    const property = fc.asyncProperty(fc.array(message, { maxLength: 12 }), async (messages) => {
      expect(await said3(sentOf(messages, 'another/model'))).toEqual(TAKEN);
    });
    await expect(fc.check(property, { numRuns: RUNS })).resolves.toMatchObject({ failed: false, counterexample: null });
  });
});

describe('V11 images are sent as servers take them', () => {
  const shown = (data: string, mediaType = 'image/png'): Message => ({
    role: 'user',
    content: [{ type: 'file', mediaType, data }, text('q')],
  });
  const found = (data: string) =>
    results({ ...result('a'), output: { type: 'content', value: [text('a file'), { type: 'image-data', mediaType: 'image/png', data }] } });
  const bytes = (file: Buffer | string) => Buffer.from(file).toString('base64');
  const line = (why: string) => `[an image was left out: ${why}]`;

  it.each([
    ['Git LFS', bytes('version https://git-lfs.github.com/spec/v1\n'), 'Git LFS pointer'],
    ['nothing', '', 'it is empty'],
    ['a cut one', bytes(png(4, 4, 99).subarray(0, 60)), 'it is cut off'],
    ['9000 pixels', bytes(png(9000, 2)), '9000 × 2 pixels'],
  ])('%s in an older message or result becomes a line', (_, data, why) => {
    const sent = told(sentOf([shown(data), own(answer(call('a'))), found(data)]));
    expect(sent[0]).toMatch(/^user \[an image was left out: .*\] \| q$/u);
    expect(sent[0]).toContain(why);
    expect(sent[2]).toContain(why);
  });

  it('has the type of its bytes', () => {
    const sent = sentOf([shown(bytes(jpeg())), own(answer(call('a'))), found(bytes(gif()))]);
    expect(sent[0]?.content[0]).toMatchObject({ type: 'file', mediaType: 'image/jpeg', data: bytes(jpeg()) });
    expect(JSON.stringify(sent[2])).toContain('"mediaType":"image/gif"');
  });

  it('10 no image is decoded that is not sent: newer ones took its place', () => {
    const lfs = bytes('version https://git-lfs.github.com/spec/v1\n');
    const sent = sentOf([lfs, ...Array<string>(20).fill(bytes(png())), lfs].flatMap((data) => [shown(data), own(said('so'))]));
    expect(told(sent)[0]).toBe(`user ${line('newer ones fill what one request may carry')} | q`);
    expect(told(sent).at(-3)).toContain('Git LFS pointer');
  });

  it('20 MB or 20 images are sent at most: the oldest become lines, half at once', () => {
    const count = (messages: readonly Message[]) => JSON.stringify(messages).split('"type":"file"').length - 1;
    const prompt = new ModelPrompt('', [], { ref: OWN });
    const sizes = [...Array(25).keys()].map(() => {
      prompt.add(shown(bytes(png())));
      prompt.add(own(said('so')));
      return count(prompt.messages);
    });
    expect(sizes).toEqual([...Array.from({ length: 20 }, (_, at) => at + 1), 10, 11, 12, 13, 14]);
    expect(told(prompt.messages)[0]).toBe(`user ${line('newer ones fill what one request may carry')} | q`);
    const large = bytes(png(2, 2, 4_900_000));
    expect(count(sentOf([...Array(5).keys()].flatMap(() => [shown(large), own(said('so'))])))).toBe(2);
  });
});
