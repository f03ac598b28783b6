import type { TurnEvent } from 'pith';
import { fakeClock } from 'pith/testing';
import { describe, expect, it } from 'vitest';
import { Checklist } from '../../../sandbox/extensions/cli_channel/checklist.ts';
import { passing } from '../../waiting.ts';
import { atPrompt, scriptedChat, turn, untilAborted } from './chats.ts';

const result = (...statuses: readonly string[]): TurnEvent => ({
  type: 'tool-result',
  id: 'c',
  name: 'todo_write',
  ok: true,
  at: 1,
  output: '',
  title: 'Todo list: 1 of 2 done',
  metadata: { checklist: statuses.map((status, at) => ({ content: `item ${at + 1}\u001b[31m`, status })) },
});

describe('the todo list of an agent', () => {
  it('U23 stands below what is awaited while it works, and its step is one line', async () => {
    const clock = fakeClock();
    const ada = await atPrompt(await scriptedChat([turn(result('completed', 'in_progress'), untilAborted)], [], { clock }));
    await ada.type('go\r', '✓ Todo list: 1 of 2 done');
    await passing(clock, () => /thinking\n {2}✓ item 1.*\n {2}▸ item 2.*\n/u.test(ada.screen()), 100);
    await ada.type('\u001b[27u', 'Stopped');
    await expect.poll(() => ada.screen()).not.toContain('▸ item 2');
    ada.type('\u0004');
    expect(await ada.done).toBe(0);
  });

  it('U23 shows eight rows at most, and goes when all is done or another conversation begins', () => {
    const list = new Checklist();
    const start = (thread: string): TurnEvent => ({ type: 'turn-start', agent: 'a', thread, turn: 't', model: 'm' });
    const end: TurnEvent = { type: 'turn-end', reason: 'done', text: '', usage: { inputTokens: 0, outputTokens: 0 } };
    list.observe(start('a'));
    list.observe(result('completed', 'in_progress', 'pending'));
    expect(list.rows()).toEqual(['  ✓ item 1', '  ▸ item 2', '  ○ item 3'].map((row) => expect.stringContaining(row)));
    expect(list.rows().join('')).not.toContain('\u001b');
    list.observe(result('completed', ...Array.from({ length: 7 }, () => 'pending')));
    expect([list.rows().length, list.rows()[0]]).toEqual([8, expect.stringContaining('✓ item 1')]);
    list.observe(result('completed', 'completed', ...Array.from({ length: 10 }, () => 'pending')));
    const rows = list.rows();
    expect([rows.length, rows[0], rows.at(-1)]).toEqual([8, '  ✓ 2 done', '  … 4 more']);
    list.observe(end);
    list.observe(start('a'));
    expect(list.rows()).toEqual(rows);
    list.observe(start('b'));
    expect(list.rows()).toEqual([]);
    list.observe(result('completed'));
    list.observe(end);
    expect(list.rows()).toEqual([]);
  });
});
