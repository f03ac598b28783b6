import { scriptedModel, testKernel } from 'pith/testing';
import { expect, it } from 'vitest';

it('a turn whose store cannot be opened ends with the reason, and the next one runs when it has been mended', async () => {
  const model = scriptedModel([{ text: 'hello' }]);
  await using pith = await testKernel({ files: { 'data/pith.db': 'this is no database at all, '.repeat(100) }, model });
  const turn = await pith.run('hi');
  expect(turn.events).toHaveLength(1);
  expect(turn).toMatchObject({ reason: 'error', text: '', error: { code: 'database_failed' } });
  expect(turn.error?.message).toContain('pith.db');
  expect(turn.error?.message).toContain('damaged');
  await pith.remove('data/pith.db');
  expect(await pith.run('hi')).toMatchObject({ reason: 'done', text: 'hello' });
});

it('messages of listeners that fail are kept once each, and not without end', async () => {
  await using pith = await testKernel({ model: scriptedModel([]) });
  const { events } = pith.kernel;
  let count = 0;
  events.handle('skills.changed', () => {
    throw new Error(`failure ${(count += 1)}`);
  });
  events.handle('skills.changed', () => {
    throw new Error('always the same');
  });
  for (let round = 0; round < 100; round += 1) events.publish('skills.changed', { added: [], changed: [], removed: [] });
  const { notes } = await pith.kernel.doctor();
  const strays = notes.filter(({ message }) => message.startsWith('a listener of '));
  expect(strays.length).toBe(20);
  expect(strays.filter(({ message }) => message.includes('always the same'))).toHaveLength(1);
});
