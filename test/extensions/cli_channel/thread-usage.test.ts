import { expect, it } from 'vitest';
import type { TurnEvent } from 'pith';
import { ThreadUsage } from '../../../sandbox/extensions/cli_channel/status-line.ts';

const start = (turn: string): TurnEvent => ({ type: 'turn-start', agent: 'main', thread: 't', turn, model: 'm/one' });
const step = (inputTokens: number, outputTokens: number): TurnEvent => ({
  type: 'step-end',
  step: 1,
  usage: { inputTokens, outputTokens },
});

it('U22 a turn that goes on after a question is counted once, and the next one by itself', () => {
  const usage = new ThreadUsage({ 'm/one': { input: 1, output: 1 } });
  for (const event of [start('1'), step(100, 10), start('1'), step(250, 30), start('2'), step(300, 5)]) usage.observe(event);
  expect(usage.tokens).toBe(280 + 305);
  expect(usage.lastRequest).toBe(305);
  expect(usage.cost).toBeCloseTo(585 / 1_000_000);
});
