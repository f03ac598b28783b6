import { expect, it } from 'vitest';
import { linesOf, runPith, startPith } from './pith-process.ts';
import { bare } from './sandbox-files.ts';
import { ownFolder, ownServer } from './until-test-ends.ts';

it('W17 pith threads stop ends the turn of another process, as Ctrl-C does, and not the next one', async () => {
  const server = await ownServer();
  const folder = await ownFolder(bare(['cli_channel', 'core_tools', 'openai_compatible']));
  const options = { cwd: folder.path, env: server.env };
  server.script({ text: 'it goes on and on', stallAfter: 1 }, { text: 'the next answer' });
  const talk = (message: string) => ['chat', '--lines', '--json', '--thread', 'talk', '-p', message];
  const chat = startPith(talk('begin'), options);
  await expect.poll(() => server.requests.filter(({ method }) => method === 'POST').length).toBe(1);
  const stop = () => runPith(['threads', 'stop', 'talk', '--json'], options);
  const { code, out, err } = await stop();
  expect([code, err, JSON.parse(out)]).toEqual([0, '', { thread: 'talk', state: 'stopped' }]);
  const ended = await chat.ended;
  expect([linesOf(ended.out).at(-1), ended.err]).toMatchObject([
    { type: 'turn-end', reason: 'aborted' },
    expect.stringContaining('stopped by local'),
  ]);
  expect(JSON.parse((await stop()).out)).toEqual({ thread: 'talk', state: 'idle' });
  expect((await runPith(talk('again'), options)).out).toContain('the next answer');
  expect(await runPith(['threads', 'stop', 'unknown'], options)).toMatchObject({ code: 1 });
});
