import { expect, it } from 'vitest';
import type { TurnEvent } from 'pith';
import { ThreadUsage } from '../../../sandbox/extensions/cli_channel/chat-status.ts';

const start = (turn: string, thread = 't'): TurnEvent => ({ type: 'turn-start', agent: 'main', thread, turn, model: 'm/one' });
/** `usage` has what called agents used in it; `request` has not. */
const step = (inputTokens: number, outputTokens: number): TurnEvent => ({
  type: 'step-end',
  step: 1,
  usage: { inputTokens: 9000, outputTokens: 9000 },
  request: { inputTokens, outputTokens },
});
const PRICES = new Map([
  ['m/one', { input: 1, output: 1 }],
  ['m/two', { input: 10, output: 10 }],
]);

it('U22 a step counts with its own request, until what is stored is read, which has it too', () => {
  const usage = new ThreadUsage(PRICES);
  for (const event of [start('1'), step(100, 10), step(150, 20)]) usage.observe(event);
  expect(usage).toMatchObject({ tokens: 280, lastRequest: 170 });
  usage.load('t', [{ model: 'm/one', inputTokens: 250, outputTokens: 30 }]);
  expect(usage).toMatchObject({ tokens: 280, lastRequest: 170 });
  usage.observe(start('2', 'other'));
  expect(usage).toMatchObject({ tokens: 0, lastRequest: 0 });
});

it('U22 the cost is that of each model that answered, and none where one has no price', () => {
  const usage = new ThreadUsage(PRICES);
  const one = { model: 'm/one', inputTokens: 1000, outputTokens: 100 };
  usage.load('t', [one, { model: 'm/two', inputTokens: 100, outputTokens: 10 }, { model: null, inputTokens: 0, outputTokens: 0 }]);
  expect(usage.tokens).toBe(1210);
  expect(usage.cost).toBeCloseTo((1100 + 1100) / 1_000_000);
  usage.load('t', [one, { model: null, inputTokens: 1, outputTokens: 0 }]);
  expect(usage).toMatchObject({ tokens: 1101, cost: null });
});
