import { expect, it } from 'vitest';
import type { TurnEvent } from 'pith';
import { ThreadUsage } from '../../../sandbox/extensions/cli_channel/status-line.ts';

const start = (turn: string): TurnEvent => ({ type: 'turn-start', agent: 'main', thread: 't', turn, model: 'm/one' });
const step = (inputTokens: number, outputTokens: number): TurnEvent => ({
  type: 'step-end',
  step: 1,
  usage: { inputTokens, outputTokens },
});

const PRICES = new Map([['m/one', { input: 1, output: 1 }]]);

it('U22 a turn that goes on after a question is counted once, and the next one by itself', () => {
  const usage = new ThreadUsage(PRICES);
  for (const event of [start('1'), step(100, 10), start('1'), step(250, 30), start('2'), step(300, 5)]) usage.observe(event);
  expect(usage.tokens).toBe(280 + 305);
  expect(usage.lastRequest).toBe(305);
  expect(usage.cost).toBeCloseTo(585 / 1_000_000);
});

it('U22 what a conversation had used before it was opened counts, and a turn that goes on only once', () => {
  const usage = new ThreadUsage(PRICES);
  const models = [{ model: 'm/one', inputTokens: 1000, outputTokens: 100 }];
  usage.open('t', { models, last: { turnId: '1', inputTokens: 100, outputTokens: 10 } });
  for (const event of [start('1'), step(250, 30)]) usage.observe(event);
  expect(usage.tokens).toBe(1100 + 170);
  expect(usage.cost).toBeCloseTo(1270 / 1_000_000);
  // Of a model without a price no sum is right.
  usage.open('other', { models: [...models, { model: null, inputTokens: 1, outputTokens: 0 }], last: null });
  expect(usage).toMatchObject({ tokens: 1101, cost: null });
});
