import { describe, expect, it } from 'vitest';
import type { ModelPart } from 'pith';
import { chatStream } from '../../../sandbox/extensions/openai_compatible/chat-stream.ts';
import { STRICT } from '../../fixtures/strict-servers.ts';
import { ARGUMENTS, Chance, cut, lost, malformed, NAMES, spoilt, streamed, TEXTS } from '../fuzzed-streams.ts';

const isLong = process.env['PITH_TEST_LONG'] === '1';
const STREAMS = isLong ? 100_000 : 1_000;
const TURNS = isLong ? 300 : 10;

const FINISHES = ['stop', 'tool_calls', 'length', '', 'error', 'STOP', 'content_filter', 'eos', 'function_call', null];

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
  return streamed(lines, chance);
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
    const fine = 'data: {"choices":[{"delta":{"content":"fine"},"finish_reason":"stop"}]}\n\n';
    const env = (server: string) => ({ OPENAI_BASE_URL: `${server}/v1`, PITH_MODEL: 'openai/m' });
    expect(await lost(TURNS, { streamOf, fine, env, fault: STRICT.openai as (body: unknown) => string | null })).toEqual([]);
  });
});
