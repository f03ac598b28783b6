/** Streams of servers that do everything wrong, and what no loop could read of the parts that are made of them. */
import type { ModelPart } from 'pith';
import { modelFailure } from '../../core/models/index.ts';
import { kernelOf, serverOf } from '../places.ts';

/** Chance with a seed: a round that fails can be played again. */
export class Chance {
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
export const TEXTS = ['a', 'Hello ', '👋', 'ä\n', '<think>', '</think>', '<thi', 'nk>', ' ', '\u001b[31m', '```', '[DONE]', 'data: x'];
export const NAMES = ['list_skills', 'read_skill', 'list_', 'skills', 'functions.read_skill', 'unknown', 'x'.repeat(80)];
export const ARGUMENTS = [
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

/** Lines as they come: some missing, twice, moved or strange, and now and then cut off. */
export function streamed(given: readonly string[], chance: Chance): string {
  const lines = [...given];
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

/** A value with one thing in it that is of another type, gone or twice as deep. */
export function spoilt(value: unknown, chance: Chance): unknown {
  if (typeof value !== 'object' || value === null || chance.is(20)) return chance.of(ODD);
  const keys = Object.keys(value);
  const key = chance.of(keys);
  const copy = (Array.isArray(value) ? [...(value as unknown[])] : { ...value }) as Record<string, unknown>;
  if (keys.length > 0) copy[key] = spoilt(copy[key], chance);
  return copy;
}

export async function* cut(text: string, chance: Chance): AsyncGenerator<Uint8Array> {
  const all = Buffer.from(text);
  for (let at = 0; at < all.length;) {
    const size = 1 + chance.below(chance.is(50) ? 400 : 20);
    yield all.subarray(at, at + size);
    at += size;
  }
}

/** What no loop could read; empty: it is well formed. */
export function malformed(parts: readonly ModelPart[]): readonly string[] {
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

/** A kind of server. */
interface FuzzedServer {
  streamOf(chance: Chance): string;
  /** A whole stream that says "fine". */
  readonly fine: string;
  /** Why a strict one does not take a request; null: it does. */
  fault(body: unknown): string | null;
  env(address: string): Readonly<Record<string, string>>;
}

/** Conversations that such a server takes no further once it has sent such a stream, or that end in another way than they should; each with its stream. */
export async function lost(rounds: number, { streamOf, fine, fault, env }: FuzzedServer): Promise<readonly string[]> {
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
      refused.push(...[fault(JSON.parse(text)) ?? []].flat());
      const body = stream ?? fine;
      stream = null;
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(body);
    });
  });
  const { run } = await kernelOf({ env: env(server) });
  for (let seed = 1; seed <= rounds; seed += 1) {
    const threadId = `fuzz-${seed}`;
    const given = streamOf(new Chance(seed * 7919));
    stream = given;
    asked = 0;
    const first = await run('Hello', { threadId });
    const times = (first.error?.message ?? '').split('server words').length - 1;
    const isOnce = times === 0 || (times === 1 && asked === 1);
    stream = null;
    const second = await run('Go on', { threadId });
    const came = [/^(?:done|error)$/.test(first.reason), isOnce, second.reason, second.text, ...refused.splice(0)];
    if (came.join() !== 'true,true,done,fine') found.push(`seed ${seed}: ${came.join(', ')}\n${given}`);
  }
  return found;
}
