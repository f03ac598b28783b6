import { type CommandIO, PithError } from 'pith';
import { fakeClock } from 'pith/testing';
import { expect, it } from 'vitest';
import { webCommand } from '../../../sandbox/extensions/web_channel/command.ts';
import { gate } from '../../waiting.ts';

it('W1 `pith web` goes on serving where it cannot open the page, and prints why', async () => {
  const clock = fakeClock();
  const stopped = gate();
  const answers = [new PithError('not_listening', 'nothing listens'), new Error('the database is locked')];
  const users = () => ({ signInAddress: async () => Promise.reject(answers.shift() ?? new Error('asked once more')) }) as never;
  const errors: string[] = [];
  const printed = gate();
  const io = { error: (text: string) => (errors.push(text), printed.open()) } as unknown as CommandIO;
  const { runBeforeStart } = webCommand({ users, clock });
  let hasEnded = false;
  const web = runBeforeStart!({ arguments: {}, options: {} }, io, async () => (await stopped.opened, null), new AbortController().signal);
  void web.then(() => (hasEnded = true));
  await printed.opened;
  expect([errors, hasEnded]).toEqual([['pith: the page was not opened: the database is locked; try again: pith web'], false]);
  stopped.open();
  await web;
});

it('W1 `pith web --print` prints no second address where it begins to serve, which prints its own', async () => {
  const asked: string[] = [];
  const users = () =>
    ({ signInAddress: async () => (asked.push('address'), Promise.reject(new PithError('not_listening', 'nothing listens'))) }) as never;
  const printed: string[] = [];
  const io = { print: (text: string) => printed.push(text), wantsJson: false, quiet: false } as unknown as CommandIO;
  const { runBeforeStart } = webCommand({ users, clock: fakeClock() });
  const start = async () => (asked.push('start'), null);
  await runBeforeStart!({ arguments: {}, options: { print: true } }, io, start, new AbortController().signal);
  expect([asked, printed]).toEqual([['address', 'start'], []]);
});
