import { recordEvents } from 'pith/testing';
import { expect, it } from 'vitest';
import { taskKernel } from './task-kernel.ts';

it('J11: a provider that says when it takes requests again holds all tasks until then', async () => {
  const headers = { 'retry-after': '90' };
  const limited = Object.assign(new Error('slow down'), { statusCode: 429, isRetryable: false, responseHeaders: headers });
  let requests = 0;
  await using kernel = await taskKernel(() => ((requests += 1) === 1 ? { error: limited } : { text: 'done' }));
  const began = kernel.clock.now();
  const id = await kernel.submit('go on');
  await kernel.until(id, 'retry_scheduled');
  const [hold] = await kernel.test.kernel.jobs.store.holds();
  expect(hold).toMatchObject({ kind: 'lane', value: 'task_engine.tasks', reason: expect.stringContaining('slow down') });
  const other = await kernel.submit('something else');
  await Promise.all([kernel.until(id, 'done'), kernel.until(other, 'done')]);
  expect(kernel.clock.now() - began).toBeGreaterThanOrEqual(90_000);
  expect(requests).toBe(3);
});

it('J9 K91: a task whose process died three times has failed, and its person hears of it', async () => {
  await using kernel = await taskKernel(() => ({ text: 'never' }), { start: false });
  const id = await kernel.submit('break everything');
  await kernel.change(`UPDATE jobs SET state = 'running', ready = 0, fence = 3, lost = 2, holder = 'dead', until = 1 WHERE lane = 'tasks'`);
  await kernel.test.kernel.start();
  expect(await kernel.until(id, 'failed')).toMatchObject({ error: { code: 'lost' }, steps: 0 });
  await expect.poll(() => kernel.notices()).toEqual([expect.stringContaining('the process died 3 times')]);
  expect(await kernel.command('tasks', 'retry', id)).toMatchObject({ state: 'pending' });
  expect(await kernel.until(id, 'done')).toMatchObject({ result: 'never' });
});

it('J14: a task whose job a person cancels is cancelled', async () => {
  await using kernel = await taskKernel(() => ({ hang: true }));
  const id = await kernel.submit('wait');
  await kernel.asked(1);
  const { store } = kernel.test.kernel.jobs;
  const [job] = await store.list({ names: ['task_engine.work'], limit: 1 });
  await store.cancel(job!.id, 'not wanted');
  expect(await kernel.until(id, 'cancelled')).toMatchObject({ note: 'not wanted' });
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
