import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { scriptedModel } from 'pith/testing';
import { expect, it } from 'vitest';
import { kernelOf } from '../../places.ts';

it('a turn whose store cannot be opened ends with the reason, and the next one runs when it has been mended', async () => {
  const model = scriptedModel([{ text: 'hello' }]);
  const pith = await kernelOf({
    only: ['orchestrator'],
    files: { 'data/pith.db': 'this is no database at all, '.repeat(100) },
    model,
  });
  const turn = await pith.run('hi');
  expect(turn.events).toHaveLength(1);
  expect(turn).toMatchObject({ reason: 'error', text: '', error: { code: 'database_failed' } });
  expect(turn.error?.message).toContain('pith.db');
  expect(turn.error?.message).toContain('damaged');
  await pith.remove('data/pith.db');
  expect(await pith.run('hi')).toMatchObject({ reason: 'done', text: 'hello' });
});

it('conversations and the log can be read by their owner only', async () => {
  const pith = await kernelOf({ only: ['orchestrator'], model: scriptedModel([{ text: 'hello' }]) });
  await pith.run('hi');
  const mode = async (file: string) => ((await stat(path.join(pith.sandbox, 'data', file))).mode & 0o777).toString(8);
  expect(await mode('pith.db')).toBe('600');
  expect(await mode('pith.db-wal')).toBe('600');
  pith.kernel.host.logger('test').info('said');
  await pith.kernel.stop();
  expect(await mode('logs/pith.log')).toBe('600');
});

it('an index that cannot be written is told in the log', async () => {
  const pith = await kernelOf({ only: ['orchestrator'], model: scriptedModel([]) });
  await pith.write('data/.cache', 'a file where the folder should be');
  await pith.restart();
  await pith.kernel.stop();
  expect(await readFile(path.join(pith.sandbox, 'data', 'logs', 'pith.log'), 'utf8')).toContain(
    'a file is in the place of a folder, so every start reads all manifests',
  );
});

it('messages of listeners that fail are kept once each, and not without end', async () => {
  const pith = await kernelOf({ only: ['orchestrator'], model: scriptedModel([]) });
  const { events } = pith.kernel;
  let count = 0;
  events.handle('provider.changed', () => {
    throw new Error(`failure ${(count += 1)}`);
  });
  events.handle('provider.changed', () => {
    throw new Error('always the same');
  });
  for (let round = 0; round < 100; round += 1) events.publish('provider.changed', { extensionId: 'x', protocol: 'skill' });
  const { notes } = await pith.kernel.doctor();
  const strays = notes.filter(({ message }) => message.startsWith('a listener of '));
  expect(strays.length).toBe(20);
  expect(strays.filter(({ message }) => message.includes('always the same'))).toHaveLength(1);
});

it('an agent is checked again when an extension that it uses has gone, although that never ran here', async () => {
  const pith = await kernelOf({
    files: {
      'extensions/side/manifest.yaml': JSON.stringify({ id: 'side', entrypoint: 'main.ts', provides: ['tool'] }),
      'extensions/side/main.ts': 'export default class { getTools() { return []; } }\n',
      'agents/plain/manifest.yaml': JSON.stringify({ id: 'plain', agent: { uses_tools: ['side'] } }),
    },
    only: [],
    model: scriptedModel([]),
  });
  const stateOf = async () => (await pith.kernel.agents.list()).map(({ id, state }) => ({ id, state }));
  expect(await stateOf()).toEqual([{ id: 'plain', state: 'active' }]);
  await pith.restart();
  expect(await stateOf()).toEqual([{ id: 'plain', state: 'active' }]);
  expect(pith.kernel.host.extensions.state('side')).toBe('idle');
  await pith.remove('extensions/side');
  await pith.kernel.host.extensions.refresh();
  expect(await stateOf()).toEqual([{ id: 'plain', state: 'degraded' }]);
});
