import { expect, it } from 'vitest';
import { until } from '../../../waiting.ts';
import { worldOf } from './service-world.ts';

it('J7: a job is begun at once by the process that added it, and within 300 ms by another', async () => {
  const world = worldOf();
  const ran: string[] = [];
  const one = world.process({ 'a.x': async ({ payload }) => void ran.push(`one ${JSON.stringify(payload)}`) });
  one.service.start();
  await one.add('a.x', { payload: '1' });
  await until(() => ran.length === 1);
  expect(ran).toEqual(['one 1']);
});
