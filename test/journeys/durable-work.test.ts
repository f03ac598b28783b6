import type { JsonValue, TopicMap } from 'pith';
import { fakeClock } from 'pith/testing';
import { expect, it } from 'vitest';
import { exampleOf } from '../architecture/skill-text.ts';
import { kernelOf } from '../places.ts';
import { passing } from '../waiting.ts';

const MINUTE = 60_000;
const { manifest, main } = exampleOf('docs/durable-work.md');

it('J1 J2 J10 the extension of the page on durable work does what the page says', async () => {
  expect(exampleOf('sandbox/skills/extension-development/references/jobs.md')).toEqual({ manifest, main }); // the builder reads the same
  const clock = fakeClock(new Date(2026, 0, 1, 2, 58).getTime()); // in this machine's zone, before three
  const files = {
    'extensions/reminders/manifest.yaml': manifest,
    'extensions/reminders/main.ts': main,
    'agents/boss/manifest.yaml': JSON.stringify({ id: 'boss', agent: { instructions: 'x', uses_tools: ['reminders'] } }),
    'pith.yaml': 'default_agent: boss\n',
  };
  const pith = await kernelOf({ clock, only: [], files });
  const call = async (name: string, input: JsonValue) =>
    (await pith.kernel.agents.callTool('boss', name, input)) as { readonly output?: JsonValue };
  const remind = async (text: string, inMs: number) =>
    ((await call('remind_me', { text, at: new Date(clock.now() + inMs).toISOString() })).output as { readonly id: string }).id;
  const state = async (id: string) => (await pith.kernel.jobs.store.get(id))?.state;

  const soup = await remind('the soup', MINUTE / 2);
  expect(await remind('the soup', MINUTE / 3)).toBe(soup); // the same words: one reminder, at the later word's time
  const bread = await remind('the bread', MINUTE / 2);
  await pith.restart(); // a crash would do the same
  const notices: TopicMap['notify'][] = [];
  pith.kernel.events.handle('notify', (notice) => void notices.push(notice));
  await pith.kernel.start();
  await call('reminder_seen', { id: 'none' }); // its code is loaded while the clock stands still
  await passing(clock, () => notices.length === 1, 5_000);
  await clock.advance(MINUTE / 2); // one at a time
  expect([await state(soup), await state(bread), notices.map(({ text }) => text)]).toEqual(['suspended', 'waiting', ['the soup']]);
  expect(await call('reminder_seen', { id: soup })).toMatchObject({ ok: true, output: true });
  await passing(clock, () => notices.length === 2);
  expect(await pith.kernel.jobs.store.get(soup)).toMatchObject({ state: 'done', result: '{"seen":true}' });

  const ticks = () => pith.kernel.jobs.store.list({ names: ['reminders.tidy'], states: ['done'], limit: 9 });
  await passing(clock, async () => (await ticks()).length === 1, 5_000);
  const [tidied] = await ticks();
  expect((await pith.kernel.jobs.store.notes(tidied!.id)).map(({ data }) => data)).toEqual([
    `tidied at ${new Date(2026, 0, 1, 3).toISOString()}`,
  ]);
});
