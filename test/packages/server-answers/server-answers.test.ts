import { headerProblem, sentEvent, serverEvents, serverWords, type ServerEvent } from '@pith/server-answers';
import { describe, expect, it } from 'vitest';

async function* bytes(text: string, size: number): AsyncGenerator<Uint8Array> {
  const all = Buffer.from(text);
  for (let at = 0; at < all.length; at += size) yield all.subarray(at, at + size);
}

async function events(text: string, size = 1000): Promise<ServerEvent[]> {
  const found: ServerEvent[] = [];
  for await (const batch of serverEvents(bytes(text, size))) found.push(...batch);
  return found;
}

const data = (...texts: readonly string[]) => texts.map((text) => ({ kind: 'data', data: text }));

describe('server-sent events', () => {
  it.each([
    [
      ': comment\r\nid: 1\r\ndata: {"a":"é👋"}\r\n\r\ndata:one\ndata: two\n\nevent: x\n\ndata: last',
      data('{"a":"é👋"}', 'one\ntwo', 'last'),
    ],
    ['\ufeffdata: a\r\rdata: b\r\r', data('a', 'b')],
    ['data: a\r\n\rdata: b\n\r\n', data('a', 'b')],
    ['data: a\r\ndata: b\r\n\r\ndata: c\r\n', data('a\nb', 'c')],
    ['data\n\ndata:\n\ndata:  a\n\n', data('', '', ' a')],
    ['event: error\ndata: x\n\ndata: y\n\n', [{ kind: 'error', data: 'x' }, ...data('y')]],
    ['error: x\n\n', [{ kind: 'error', data: 'x' }]],
    ['{\n "a": 1\n}\n\ndata: b', [{ kind: 'stray', data: '{\n "a": 1\n}\n' }, ...data('b')]],
    ['', []],
  ])('come out the same wherever the network cuts them: %j', async (text, expected) => {
    for (const size of [1, 2, 3, 5, 1000]) expect(await events(text, size)).toEqual(expected);
  });

  it('W16 are read as they were sent, whatever lines their data has', async () => {
    const sent = [sentEvent({ text: 'a\r\n\n: b' }, { id: 'x-1', event: 'turn' }), sentEvent('c')].map((each) =>
      Buffer.from(each).toString(),
    );
    expect(sent[0]).toBe('id: x-1\nevent: turn\ndata: {"text":"a\\r\\n\\n: b"}\n\n');
    expect(await events(sent.join(''))).toEqual(data('{"text":"a\\r\\n\\n: b"}', '"c"'));
  });

  it('come as soon as they are there, also where lines end with CR', async () => {
    async function* slow() {
      yield Buffer.from('data: a\r\r');
      await new Promise(() => undefined);
    }
    expect((await serverEvents(slow()).next()).value).toEqual(data('a'));
  });

  it.each(['data: ', 'stray '])('do not grow without end: %s', async (begin) => {
    await expect(events(begin + 'x'.repeat(5 * 1024 * 1024), 1024 * 1024)).rejects.toThrow(/more than/);
    await expect(events(`${begin}${'x'.repeat(1000)}\n`.repeat(5000), 1024 * 1024)).rejects.toThrow(/more than/);
  });
});

it('12 V8 of what is no event no more comes out than a line may have, however it is cut', async () => {
  const given = await events(`${'x'.repeat(1_000_000)}\n\n`.repeat(10) + 'data: a', 1024 * 1024);
  expect(given.map(({ kind }) => kind)).toEqual(['stray', 'stray', 'stray', 'stray', 'data']);
});

describe('V7 the words of a server', () => {
  it.each<readonly [said: unknown, words: string | null]>([
    [{ error: { message: 'bad', type: 'x', code: null } }, 'bad'],
    [{ error: 'bad' }, 'bad'],
    [{ error: 'Unauthorized', message: 'no such key' }, 'Unauthorized: no such key'],
    [{ detail: 'bad' }, 'bad'],
    [
      {
        detail: [
          { loc: ['body', 'x'], msg: 'required' },
          { loc: ['body', 'y'], msg: 'too long' },
        ],
      },
      'body.x: required; body.y: too long',
    ],
    [{ detail: { error: { message: 'bad' } } }, 'bad'],
    [{ message: 'bad', __type: 'ValidationException' }, 'bad'],
    [{ Message: 'bad' }, 'bad'],
    [[{ error: { code: 400, message: 'bad', status: 'INVALID_ARGUMENT' } }], 'bad'],
    [{ errors: ['a', 'b', 'a'] }, 'a; b'],
    [{ errors: [{ message: 'a' }] }, 'a'],
    [{ object: 'error', message: 'bad', type: 'NotFoundError', code: 404 }, 'bad'],
    [{ error: { message: '{"error":{"message":"deep"}}' } }, 'deep'],
    [{ error: { message: '[{"error":{"message":"deep"}}]' } }, 'deep'],
    [{ error: { message: 'Provider returned error', metadata: { raw: '{"error":{"message":"deep"}}' } } }, 'Provider returned error: deep'],
    [{ error: { message: 'Provider returned error', metadata: { raw: 'as text' } } }, 'Provider returned error: as text'],
    [{ title: 'Bad Request', detail: 'no model', status: 400 }, 'no model'],
    [{ error_description: 'expired' }, 'expired'],
    [{ base_resp: { status_code: 1004, status_msg: 'login fail' } }, 'login fail'],
    ['{"detail":"bad"}', 'bad'],
    ['  plain text \n', 'plain text'],
    ['{half a', '{half a'],
    ['<html><head><title>502 Bad\nGateway</title></head></html>', "a web page ('502 Bad Gateway')"],
    ['<!-- x -->\n<!DOCTYPE html><body>', 'a web page'],
    ['', null],
    [null, null],
    [3, null],
    [{}, null],
    [{ error: {} }, null],
    [{ error: { code: 3 } }, null],
    [[], null],
  ])('%j', (said, words) => {
    expect(serverWords(said)).toBe(words);
  });

  it('are bounded, however deep or long', () => {
    expect(serverWords('x'.repeat(1e6))).toHaveLength(2000);
    let deep: unknown = 'x';
    for (let depth = 0; depth < 1000; depth += 1) deep = { error: deep };
    expect(serverWords(deep)).toBeNull();
    expect(serverWords(`<html>${' '.repeat(1e6)}`)).toBe('a web page');
  });
});

it.each([
  ['sk-proj_ABC.123=+/', null],
  ['sk-ж', 'its character 4 is a letter of another script'],
  ['sk-ｋ', 'its character 4 is a letter of another script'],
  ['sk-1\n', 'its character 5 is the end of a line'],
  [' sk-1', 'its character 1 is a blank'],
  ['sk-\u00a01', 'its character 4 is a blank'],
  ['sk-1\u200b', 'its character 5 is one that nobody sees'],
  ['sk-\u0007', 'its character 4 is one that nobody sees'],
  ['sk-👋', 'its character 4 is a sign that no key contains'],
])('V9 %j as a key', (key, problem) => {
  expect(headerProblem(key)).toBe(problem);
});
