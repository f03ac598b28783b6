import { describe, expect, it } from 'vitest';
import type { Run } from '../../../sandbox/extensions/saved_skills/runs/run.ts';
import { isDelivered, partsOf } from '../../../sandbox/extensions/saved_skills/runs/deliveries.ts';

const run = (more: Partial<Run> = {}): Run =>
  ({
    id: '01ARZ3NDEKTSV4RRFFQ69G5FAV',
    skill: 'ada/report',
    cause: 'schedule',
    parentId: null,
    output: 'The report.',
    origin: { channelId: 'cli', threadId: 't1', message: null },
    ...more,
  }) as Run;

describe('where a result goes', () => {
  it('M41 M42 to its target, or where it was asked for', () => {
    expect(partsOf(run(), { kind: 'channel', target: 'pager:x' }, '')).toEqual([
      { text: 'The report.', target: 'pager:x', threadId: 't1' },
    ]);
    expect(partsOf(run(), { kind: 'dm', target: '' }, '')).toEqual([{ text: 'The report.', target: '', threadId: 't1' }]);
  });

  it('M43 to its conversation, else to its target', () => {
    expect(partsOf(run(), { kind: 'thread', target: 'pager:x' }, '')).toMatchObject([{ target: '', threadId: 't1' }]);
    const elsewhere = run({ origin: { channelId: null, threadId: null, message: null } });
    expect(partsOf(elsewhere, { kind: 'thread', target: 'pager:x' }, '')).toMatchObject([{ target: 'pager:x', threadId: null }]);
  });

  it('M44 all of it to the channel of the settings and its beginning to the conversation; unset or the same: all of it here', () => {
    const long = run({ output: 'x'.repeat(500) });
    const [whole, short] = partsOf(long, { kind: 'channel_with_summary', target: '' }, 'pager:all');
    expect(whole).toMatchObject({ target: 'pager:all', text: `${'x'.repeat(500)}` });
    expect(short?.text).toBe(`${'x'.repeat(280)}…\nAll of it: pith runs show ${long.id}`);
    for (const setting of ['', 'pager:same'])
      expect(partsOf(long, { kind: 'channel_with_summary', target: 'pager:same' }, setting)).toMatchObject([{ target: 'pager:same' }]);
  });

  it('M45 nowhere', () => {
    expect(partsOf(run(), { kind: 'webui_only', target: '' }, '')).toEqual([]);
    expect(isDelivered(run(), { kind: 'webui_only', target: '' })).toBe(false);
  });

  it('M42 not where somebody waits for it, nor what another run composed', () => {
    const here = { kind: 'channel', target: '' } as const;
    expect(isDelivered(run(), here)).toBe(true);
    expect(isDelivered(run({ cause: 'manual' }), here)).toBe(false);
    expect(isDelivered(run({ cause: 'manual' }), { kind: 'channel', target: 'pager:x' })).toBe(true);
    expect(isDelivered(run({ cause: 'schedule', parentId: 'p' }), here)).toBe(false);
  });
});
