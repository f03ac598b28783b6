import { expect, it } from 'vitest';
import { STRICT } from '../../fixtures/strict-servers.ts';
import { ARGUMENTS, type Chance, lost, NAMES, spoilt, streamed, TEXTS } from '../fuzzed-streams.ts';

const TURNS = process.env['PITH_TEST_LONG'] === '1' ? 300 : 25;
const REASONS = ['end_turn', 'tool_use', 'max_tokens', 'stop_sequence', 'refusal', 'pause_turn', '', 'STOP', 3, null];

/** One stream of a server that does everything wrong, and now and then nothing. */
function streamOf(chance: Chance): string {
  const lines: string[] = [];
  const say = (type: string, fields: object = {}): void => {
    const event = { type, ...fields };
    const kind = chance.is(90) ? `event: ${type}\n` : '';
    lines.push(`${kind}data: ${JSON.stringify(chance.is(4) ? spoilt(event, chance) : event)}`);
  };
  const usage = { input_tokens: 3, output_tokens: chance.of([1, 'x', null, -1]) };
  say('message_start', { message: { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null, usage } });
  for (let count = 1 + chance.below(6), at = 0; at < count; at += 1) {
    const index = chance.is(90) ? at : chance.of([0, undefined, String(at), null]);
    const block = blockOf(at, chance);
    say('content_block_start', { index, content_block: block.start });
    for (let piece = chance.below(3); piece > 0; piece -= 1) say('content_block_delta', { index, delta: block.delta() });
    if (chance.is(90)) say('content_block_stop', { index });
    if (chance.is(10)) say('ping');
  }
  if (chance.is(90)) say('message_delta', { delta: { stop_reason: chance.of(REASONS) }, usage: { output_tokens: 2 } });
  if (chance.is(80)) say('message_stop');
  return streamed(lines, chance);
}

function blockOf(at: number, chance: Chance) {
  const kind = chance.below(4);
  if (kind === 0) return { start: { type: 'text', text: '' }, delta: () => ({ type: 'text_delta', text: chance.of(TEXTS) }) };
  if (kind === 1)
    return {
      start: { type: 'thinking', thinking: '', signature: '' },
      delta: () =>
        chance.is(80) ? { type: 'thinking_delta', thinking: chance.of(TEXTS) } : { type: 'signature_delta', signature: 'of-anthropic' },
    };
  const id = chance.of([`toolu_${at}`, `call-${at}`, '', undefined, 'same', 'same']);
  return {
    start: { type: 'tool_use', id, name: chance.of(NAMES), input: {} },
    delta: () => ({ type: 'input_json_delta', partial_json: chance.of(ARGUMENTS) }),
  };
}

it(`V1 V3 V7 V8 a server of the messages API that sends anything leaves a conversation that a strict one takes, ${TURNS} times`, async () => {
  const event = (type: string, fields: object = {}) => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
  const fine = [
    event('message_start', { message: { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [], usage: {} } }),
    event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'fine' } }),
    event('content_block_stop', { index: 0 }),
    event('message_delta', { delta: { stop_reason: 'end_turn' }, usage: {} }),
    event('message_stop'),
  ].join('');
  const env = (server: string) => ({ ANTHROPIC_BASE_URL: server, ANTHROPIC_API_KEY: 'k' });
  expect(await lost(TURNS, { streamOf, fine, env, fault: STRICT.anthropic as (body: unknown) => string | null })).toEqual([]);
});
