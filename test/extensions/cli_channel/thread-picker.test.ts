import type { CommandIO } from 'pith';
import { expect, it } from 'vitest';
import { pickThread } from '../../../sandbox/extensions/cli_channel/opening.ts';
import { answering } from './chats.ts';

const NOW = new Date(2026, 6, 28, 18, 30).getTime();
const TODAY = new Date(2026, 6, 28, 14, 5).getTime();
const BEFORE = new Date(2026, 6, 27, 9, 3).getTime();

function picker(answers: string[]) {
  const lines: string[] = [];
  const io = { columns: 80, print: (line: string) => void lines.push(line), ask: async () => answers.shift() ?? null };
  const place = { io: io as unknown as CommandIO, clock: { now: () => NOW } };
  const list = answering('threads list', [
    { id: 'a', title: 'Tea', updatedAt: TODAY },
    { id: 'a/1', title: 'of an agent', updatedAt: TODAY },
    { id: 'b', title: 'Coffee', updatedAt: BEFORE },
  ]);
  return {
    lines,
    pick: () =>
      pickThread([{ ...list, options: [{ name: 'limit', type: 'number', description: '' }] }], place, new AbortController().signal),
  };
}

it('U23 U30 the list of conversations names the hour of today, and the day of others', async () => {
  const { lines, pick } = picker(['9', '2']);
  expect(await pick()).toBe('b');
  expect(lines).toEqual(['  1  14:05             Tea', '  2  2026-07-27 09:03  Coffee', 'Type a number from 1 to 2.']);
});

it('U30 an empty answer chooses none', async () => {
  expect(await picker(['']).pick()).toBeNull();
});
