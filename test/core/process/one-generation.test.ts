import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { recordEvents } from 'pith/testing';
import { isAlive } from './hosts.ts';
import { until } from '../../waiting.ts';
import { inProcesses, main, manifest } from './extension.ts';

const SERVICE = `async runBackground(signal) {
  appendFileSync(path.join(this.context.dataDirectory, 'serving'), process.pid + '\\n');
  await new Promise((resolve) => signal.addEventListener('abort', resolve));
}`;
const HEAD = "import { appendFileSync, existsSync } from 'node:fs'; import path from 'node:path';";

it('B1: a crash of the old version while the new one is constructed leaves one service alive', async () => {
  const kernel = await inProcesses({
    flags: { extensions_sandbox: 'off' }, // a process in a sandbox does not know its own number
    files: { ...manifest('mine', { provides: ['service'] }), ...main('mine', SERVICE, HEAD) },
  });
  const { host, events } = kernel.kernel;
  const data = path.join(kernel.sandbox, 'data', 'extensions', 'mine');
  const pidsIn = (name: string) =>
    existsSync(path.join(data, name)) ? readFileSync(path.join(data, name), 'utf8').trim().split('\n').map(Number) : [];
  const serving = () => pidsIn('serving');
  const told = recordEvents(events);
  await kernel.kernel.start();
  await until(() => serving().length === 1);

  const gate = `appendFileSync(${JSON.stringify(path.join(data, 'constructing'))}, process.pid + '\\n'); while (!existsSync(${JSON.stringify(path.join(data, 'go'))})) await new Promise((resolve) => setTimeout(resolve, 5));`;
  const [[file, text]] = Object.entries(main('mine', SERVICE, `${HEAD} ${gate}`)) as [[string, string]];
  await kernel.write(file, text);
  const refreshed = host.extensions.refresh();
  await until(() => pidsIn('constructing').length === 1);
  process.kill(serving()[0] as number, 'SIGKILL');
  await until(() => told.of('extension.failed').some(({ code }) => code === 'process_ended'));
  await kernel.write('data/extensions/mine/go', '');
  await refreshed;
  await until(() => host.extensions.state('mine') === 'active');
  await until(() => pidsIn('constructing').every((pid) => serving().includes(pid) || !isAlive(pid)));

  expect(serving().filter(isAlive)).toHaveLength(1);
  expect(pidsIn('constructing')).toHaveLength(1);
  expect(host.extensions.show('mine')).toMatchObject({ state: 'active', generation: 2 });
});
