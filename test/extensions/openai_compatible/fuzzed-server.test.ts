import { describe, expect, it } from 'vitest';
import type { ModelPart } from 'pith';
import { modelFailure } from '../../../core/models/index.ts';
import { chatStream } from '../../../sandbox/extensions/openai_compatible/chat-stream.ts';
import type { ChatBody } from '../../fixtures/openai-server.ts';
import { STRICT } from '../../fixtures/strict-servers.ts';
import { kernelOf, serverOf } from '../../places.ts';

const isLong = process.env['PITH_TEST_LONG'] === '1';
const STREAMS = isLong ? 100_000 : 2_000;
const TURNS = isLong ? 300 : 20;

/** Chance with a seed: a round that fails can be played again. */
class Chance {
  constructor(private seed: number) {}
  below(count: number): number {
    this.seed = (Math.imul(this.seed, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((this.seed / 2 ** 32) * count);
  }
  of<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!;
  }
  is(percent: number): boolean {
    return this.below(100) < percent;
  }
}

const ODD: readonly unknown[] = [
  null,
  '',
  0,
  -1,
  1e300,
  true,
  false,
  [],
  {},
  [null],
  'x',
  '0',
  { a: 1 },
  [[{}]],
  '\u0000',
  '\u202e',
  { message: 'm' },
];
const TEXTS = ['a', 'Hello ', '👋', 'ä\n', '<think>', '</think>', '<thi', 'nk>', ' ', '\u001b[31m', '```', '[DONE]', 'data: x'];
const NAMES = ['list_skills', 'read_skill', 'list_', 'skills', 'functions.read_skill', 'unknown', 'x'.repeat(80)];
const ARGUMENTS = [
  '',
  '{}',
  '{',
  '{"skill_id":',
  '"code-review"}',
  '{"skill_id":"code-review"}',
  '"{\\"a\\":1}"',
  'null',
  '}',
  '[1]',
  '{"a":"\\u0000"}',
];
const FINISHES = ['stop', 'tool_calls', 'length', '', 'error', 'STOP', 'content_filter', 'eos', 'function_call', null];
const LINES = [
  ': ping',
  'data:',
  'data: {}',
  'data: [DONE]',
  'event: ping',
  'event: error',
  'data: null',
  '{"error":"x"}',
  'id: 7',
  'retry: 1',
  '<html>',
  'data: {"error":{"message":"server words","code":400}}',
  'data: {"detail":"server words"}',
];

/** One stream of a server that does everything wrong, and now and then nothing. */
function streamOf(chance: Chance): string {
  const lines: string[] = [];
  const chunk = (delta: unknown, finish: unknown = null, index: unknown = 0) => ({
    id: 'i',
    created: 1,
    model: 'm',
    choices: [{ index, delta, finish_reason: finish }],
  });
  const say = (value: unknown): void => void lines.push(`data: ${JSON.stringify(chance.is(8) ? spoilt(value, chance) : value)}`);
  for (let count = chance.below(5); count > 0; count -= 1)
    say(chunk(chance.is(30) ? { reasoning_content: chance.of(TEXTS) } : { content: chance.of(TEXTS) }));
  for (let count = chance.below(4), at = 0; at < count; at += 1) {
    const index = chance.of([at, at, at, 0, undefined, String(at), null]);
    const id = chance.of([`call_${at}`, `call_${at}`, '', undefined, 'same', `x${chance.below(99)}`]);
    for (let piece = 1 + chance.below(3), first = true; piece > 0; piece -= 1, first = false) {
      const name = first || chance.is(20) ? chance.of(NAMES) : undefined;
      say(
        chunk({
          tool_calls: [{ index, id: first || chance.is(20) ? id : undefined, function: { name, arguments: chance.of(ARGUMENTS) } }],
        }),
      );
    }
  }
  if (chance.is(85)) say(chunk({}, chance.of(FINISHES)));
  if (chance.is(30)) say({ choices: [], usage: { prompt_tokens: 3, completion_tokens: chance.of([2, 'x', null, -1]) } });
  if (chance.is(80)) lines.push('data: [DONE]');
  for (let count = chance.below(3); count > 0; count -= 1) {
    const at = chance.below(lines.length + 1);
    const change = chance.below(4);
    if (change === 0) lines.splice(at, 0, chance.of(LINES));
    else if (change === 1) lines.splice(at, 1);
    else if (change === 2 && lines[at] !== undefined) lines.splice(at, 0, lines[at]);
    else lines.splice(at, 0, ...lines.splice(chance.below(lines.length + 1), 1));
  }
  const blank = chance.is(90) ? '\n\n' : chance.of(['\n', '\r\n\r\n', '\r\r']);
  const whole = lines.map((line) => line + blank).join('');
  return chance.is(15) ? whole.slice(0, chance.below(whole.length + 1)) : whole;
}

/** The same with one thing in it that is of another type, gone or twice as deep. */
function spoilt(value: unknown, chance: Chance): unknown {
  if (typeof value !== 'object' || value === null || chance.is(20)) return chance.of(ODD);
  const keys = Object.keys(value);
  const key = chance.of(keys);
  const copy = (Array.isArray(value) ? [...(value as unknown[])] : { ...value }) as Record<string, unknown>;
  if (keys.length > 0) copy[key] = spoilt(copy[key], chance);
  return copy;
}

async function* cut(text: string, chance: Chance): AsyncGenerator<Uint8Array> {
  const all = Buffer.from(text);
  for (let at = 0; at < all.length;) {
    const size = 1 + chance.below(chance.is(50) ? 400 : 20);
    yield all.subarray(at, at + size);
    at += size;
  }
}

/** What no loop could read; empty: it is well formed. */
function malformed(parts: readonly ModelPart[]): readonly string[] {
  const problems: string[] = [];
  let open: string | null = null;
  const ids = new Set<string>();
  for (const [at, part] of parts.entries()) {
    const [, kind, stage] = /^(text|reasoning)-(start|delta|end)$/.exec(part.type) ?? [];
    const key = `${kind} ${'id' in part ? part.id : ''}`;
    if (stage === 'start' && open !== null) problems.push(`${key} begins within ${open}`);
    if ((stage === 'delta' || stage === 'end') && open !== key) problems.push(`${stage} of ${key} within ${open}`);
    if (stage !== undefined) open = stage === 'end' ? null : key;
    if (part.type === 'tool-call') {
      if (typeof part.input !== 'string' || part.toolCallId === '' || ids.has(part.toolCallId))
        problems.push(`a call like ${JSON.stringify(part)}`);
      ids.add(part.toolCallId);
    }
    if (part.type === 'error') {
      const { message } = modelFailure(part.error, 'o/m');
      if (message.length > 400 || /[\p{Cc}\u202e]/u.test(message)) problems.push(`an error like ${message}`);
      if (parts.some(({ type }) => type === 'tool-call')) problems.push('calls of an answer that failed');
    }
    if ((part.type === 'finish') !== (at === parts.length - 1)) problems.push('the end is not at the end');
  }
  if (open !== null) problems.push(`${open} does not end`);
  if (parts.filter(({ type }) => type === 'error').length > 1) problems.push('two errors');
  return problems;
}

describe('V3 V7 V8 a server that sends anything', () => {
  it(`makes parts that are well formed, ${STREAMS} times`, async () => {
    const seen = new Set<string>();
    const found: string[] = [];
    for (let seed = 1; seed <= STREAMS; seed += 1) {
      const chance = new Chance(seed);
      const stream = streamOf(chance);
      const parts: ModelPart[] = [];
      for await (const part of chatStream(cut(stream, chance), { model: 'm', tools: new Set(NAMES.slice(0, 2)) })) parts.push(part);
      const problems = malformed(parts);
      if (problems.length > 0) found.push(`seed ${seed}: ${problems.join('; ')}\n${stream}`);
      for (const { type } of parts) seen.add(type);
    }
    expect(found.slice(0, 3)).toEqual([]);
    expect(seen).toContain('tool-call');
    expect(seen).toContain('reasoning-delta');
    expect(seen).toContain('error');
  });

  it(`leaves a conversation that a strict server takes, ${TURNS} times`, async () => {
    let stream: string | null = null;
    let asked = 0;
    const refused: string[] = [];
    const found: string[] = [];
    const server = await serverOf((request, response) => {
      let text = '';
      request.on('data', (piece: Buffer) => (text += piece.toString()));
      request.on('end', () => {
        if (request.method === 'GET') return void response.end('{"data":[{"id":"m"}]}');
        asked += 1;
        refused.push(...[STRICT.openai(JSON.parse(text) as ChatBody) ?? []].flat());
        const body = stream ?? 'data: {"choices":[{"delta":{"content":"fine"},"finish_reason":"stop"}]}\n\n';
        stream = null;
        response.writeHead(200, { 'content-type': 'text/event-stream' }).end(body);
      });
    });
    const { run, newThread } = await fuzzedKernel(server);
    for (let seed = 1; seed <= TURNS; seed += 1) {
      const chance = new Chance(seed * 7919);
      const thread = newThread();
      const given = streamOf(chance);
      stream = given;
      asked = 0;
      const first = await run('Hello', { threadId: thread });
      const times = (first.error?.message ?? '').split('server words').length - 1;
      const isOnce = times === 0 || (times === 1 && asked === 1);
      stream = null;
      const second = await run('Go on', { threadId: thread });
      const came = [/^(?:done|error)$/.test(first.reason), isOnce, second.reason, second.text, ...refused.splice(0)];
      if (came.join() !== 'true,true,done,fine') found.push(`seed ${seed}: ${came.join(', ')}\n${given}`);
    }
    expect(found).toEqual([]);
  });
});

async function fuzzedKernel(server: string) {
  const kernel = await kernelOf({ env: { OPENAI_BASE_URL: `${server}/v1`, PITH_MODEL: 'openai/m' } });
  let threads = 0;
  return { run: kernel.run.bind(kernel), newThread: () => `fuzz-${(threads += 1)}` };
}
