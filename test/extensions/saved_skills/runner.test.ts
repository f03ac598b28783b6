import type { TurnEvent, TurnRequest } from 'pith';
import { describe, expect, it } from 'vitest';
import type { Run } from '../../../sandbox/extensions/saved_skills/runs/run.ts';
import { isDelivered, partsDue, partsOf } from '../../../sandbox/extensions/saved_skills/runs/deliveries.ts';
import { firstParagraph, summariser } from '../../../sandbox/extensions/saved_skills/runs/summary.ts';

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
    expect(partsOf(run(), { kind: 'channel', target: 'pager:x' })).toEqual([{ text: 'The report.', target: 'pager:x', threadId: 't1' }]);
    expect(partsOf(run(), { kind: 'dm', target: '' })).toEqual([{ text: 'The report.', target: '', threadId: 't1' }]);
  });

  it('G6 M40 M43 to the conversation that its host names, else to its own, else to its target', () => {
    const thread = { kind: 'thread', target: 'pager:x' } as const;
    expect(partsOf(run(), thread)).toMatchObject([{ target: '', threadId: 't1' }]);
    const nowhere = { channelId: null, threadId: null, message: null };
    expect(partsOf(run({ origin: nowhere }), thread)).toMatchObject([{ target: 'pager:x', threadId: null }]);
    const named = run({ cause: 'manual', origin: { ...nowhere, threadId: 't1', named: 't2' } });
    expect(partsOf(named, thread)).toMatchObject([{ target: '', threadId: 't2' }]);
    expect(isDelivered(named, { kind: 'thread', target: '' })).toBe(true);
    expect(partsOf(named, { kind: 'channel', target: '' })).toMatchObject([{ threadId: 't1' }]);
  });

  it('M44 all of it to the channel of the settings, its summary and where all of it is to the conversation; unset or the same: all of it here', async () => {
    const skills = (target: string) => ({
      version: async () => ({ snapshot: { output_target: { kind: 'channel_with_summary', target } } }) as never,
    });
    const due = (target: string, elsewhere: string) =>
      partsDue(
        { context: { config: { summary_channel_id: elsewhere } }, skills: skills(target), summarise: async () => 'In short.' },
        run(),
      );
    const [whole, short] = await due('', 'pager:all');
    expect(whole).toMatchObject({ target: 'pager:all', text: 'The report.' });
    expect(short?.text).toBe(`In short.\nAll of it is in pager:all; or see: pith runs show ${run().id}`);
    for (const setting of ['', 'pager:same'])
      expect(await due('pager:same', setting)).toMatchObject([{ target: 'pager:same', text: 'The report.' }]);
  });

  it('G8 M44 the summary is that of the fast model, with the seal of the run; without one the first paragraph', async () => {
    const long = `# Report\n\nAll is well.\n\n${'More of it. '.repeat(50)}`;
    const asked: TurnRequest[] = [];
    const answering = (...events: readonly object[]) =>
      summariser(
        {
          find: () => [],
          logger: { warn: () => undefined } as never,
          agents: {
            async *run(request: TurnRequest) {
              asked.push(request);
              yield* events as readonly TurnEvent[];
            },
          } as never,
        },
        async () => 'the seal' as never,
      );
    const end = { type: 'turn-end', reason: 'done', text: ' It goes well. ' };
    expect(await answering({ type: 'turn-start', model: 'openai/small' }, end)(run({ output: long }))).toBe('It goes well.');
    expect(asked).toMatchObject([{ agent: { model: 'fast', usesTools: [] }, input: long, key: `${run().id}/summary`, seal: 'the seal' }]);
    expect(await answering({ ...end, reason: 'error' })(run({ output: long }))).toBe('All is well.');
    expect(await answering({ type: 'turn-start', model: 'offline/librarian' }, end)(run({ output: long }))).toBe('All is well.');
    await expect(answering({ ...end, reason: 'aborted' })(run({ output: long }), AbortSignal.abort('stopped'))).rejects.toBe('stopped');
    expect(await answering(end)(run({ output: 'Short.' }))).toBe('Short.');
    expect(firstParagraph(`${'word '.repeat(100)}`)).toBe(`${'word '.repeat(56).trimEnd()}…`);
  });

  it('M45 nowhere', () => {
    expect(partsOf(run(), { kind: 'webui_only', target: '' })).toEqual([]);
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
