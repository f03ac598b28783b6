import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { describePage, newPage, say } from '../extensions/web_channel/browser.ts';
import { until } from '../waiting.ts';
import { startPith } from './pith-process.ts';
import { agentFile, bare } from './sandbox-files.ts';
import { ownFolder, ownServer } from './until-test-ends.ts';

/** A port that nobody has now. */
async function freePort(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return String(port);
}

describePage('the page over a restart', () => {
  it('W16 W17 W30 the server is killed while an answer streams, and started again: the page goes on, without a gap or a double', async () => {
    const server = await ownServer();
    const only = ['cli_channel', 'openai_compatible', 'http', 'rest_api', 'web_channel'];
    const folder = await ownFolder({ ...bare(only, { default_agent: 'helper' }), 'agents/helper/manifest.yaml': agentFile('helper') });
    const port = await freePort();
    const serve = () => {
      const serving = startPith(['serve', '--port', port], { cwd: folder.path, env: server.env, input: null });
      const kill = async (): Promise<void> => {
        serving.child.kill('SIGKILL');
        await serving.ended;
      };
      onTestFinished(kill);
      return { kill, address: () => until(async () => /http:\/\/\S+#code=\S+/u.exec(serving.out())?.[0] ?? false) };
    };
    server.script(
      { text: 'Before.' },
      { text: ['One, ', 'two, ', 'three.'], stallAfter: 3 },
      { text: ['One, ', 'two, ', 'three and four.'] },
    );
    const first = serve();
    const { page } = await newPage();
    await page.goto(await first.address());
    await say(page, 'Begin');
    await page.getByText('Before.').waitFor();
    await say(page, 'Count');
    await page.getByText('One, two,').waitFor();
    await first.kill();
    await page.getByRole('status').getByText('Connecting').waitFor();
    await serve().address();
    await page.getByRole('link', { name: 'Begin cut off' }).waitFor();
    await page.getByRole('button', { name: 'Go on' }).click();
    await page.getByText('three and four.').waitFor();
    await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'hidden' });
    expect(await page.getByRole('article').allTextContents()).toEqual([
      expect.stringMatching(/^Begin/u),
      'Before.',
      expect.stringMatching(/^Count/u),
      'One, two, three and four.',
    ]);
    expect(await page.getByRole('alert').count()).toBe(0);
  });
});
