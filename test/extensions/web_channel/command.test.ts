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
