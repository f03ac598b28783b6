import { recordEvents } from 'pith/testing';
import { expect, it } from 'vitest';
import { taskKernel } from './task-kernel.ts';

it('K91 K93: a task whose process died goes on soon, also when the clock went back a day meanwhile', async () => {
  let requests = 0;
  await using kernel = await taskKernel(() => ((requests += 1) === 1 ? { hang: true } : { text: 'done after all' }));
  const id = await kernel.submit('go on');
  await kernel.until(id, 'running');
  await kernel.asked(1);
  const began = kernel.clock.now();
  await kernel.change(`UPDATE task_engine__tasks SET owner = 'dead', until = ${began + 86_400_000}`);
  expect(await kernel.until(id, 'done')).toMatchObject({ result: 'done after all' });
  expect(kernel.clock.now() - began).toBeLessThan(60_000);
});

it('K91 a retry does not wait for a day because the clock went back', async () => {
  let requests = 0;
  await using kernel = await taskKernel(() => ((requests += 1) === 1 ? { error: new Error('down') } : { text: 'up again' }));
  const id = await kernel.submit('go on');
  await kernel.until(id, 'retry_scheduled');
  const began = kernel.clock.now();
  await kernel.change(`UPDATE task_engine__tasks SET due = ${began + 86_400_000}`);
  expect(await kernel.until(id, 'done')).toMatchObject({ result: 'up again' });
  expect(kernel.clock.now() - began).toBeLessThan(400_000);
});

it('K91 K10 while the database takes no changes tasks wait, and go on when it does', async () => {
  await using kernel = await taskKernel(() => ({ text: 'written' }), { start: false });
  const failed = recordEvents(kernel.test.kernel.events);
  const id = await kernel.submit('write');
  await kernel.change(`CREATE TRIGGER full BEFORE UPDATE ON task_engine__tasks BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END`);
  await kernel.test.kernel.start();
  for (let second = 0; second < 600; second += 1) await kernel.clock.advance(1000);
  expect(await kernel.task(id)).toMatchObject({ state: 'pending' });
  expect(failed.of('extension.failed')).toEqual([]);
  failed.stop();
  await kernel.change('DROP TRIGGER full');
  expect(await kernel.until(id, 'done')).toMatchObject({ result: 'written' });
});
