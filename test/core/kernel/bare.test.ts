import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { fakeClock } from 'pith/testing';
import { expect, it } from 'vitest';
import { bareHost, type BareOptions } from './bare-host.ts';
import { callTool, toolClass } from './extensions.ts';
import { writeFiles } from '../../places.ts';
import { extension } from '../declarations/sandbox-folder.ts';
import { gate } from '../../waiting.ts';

/** With the extension `it`. */
async function bare(options: BareOptions = {}) {
  const code = (body: string, more = '') => ({
    ...extension('it'),
    'extensions/it/main.ts': `import { defineTool, z } from 'pith';\n${toolClass(body, more).replace('async execute(input, call)', 'execute: async (input, call) =>')}`,
  });
  const { directory, events, host } = await bareHost(code('return 1;'), options);
  const write = (body: string, more = '') => writeFiles(directory, code(body, more));
  return { directory, write, events, host, work: () => callTool(host, 'it') };
}

it('the kernel alone boots, reloads and stops: without a database, processes, agents or durable events', async () => {
  const { host, write, work, events } = await bare();
  const counter = (step: number) =>
    write(
      `const n = ((await this.kv.get('n')) ?? 0) + ${step}; await this.kv.set('n', n); return n;`,
      'constructor({ kv }) { this.kv = kv; }',
    );
  counter(1);
  await host.extensions.refresh();
  expect(await work()).toEqual({ ok: true, output: 1 });
  counter(10);
  expect(await host.extensions.refresh()).toEqual(new Set(['it']));
  expect(await work()).toEqual({ ok: true, output: 11 });
  await expect(events.publish('notify', { text: 'hello' } as never)).rejects.toThrow(/keeps no events/);
  await host.stop();
  expect(host.extensions.failures()).toEqual([]);
});

it('K20 looks again after a look that may have read the folder before an edit; those that ask meanwhile share that look', async () => {
  const clock = fakeClock();
  const { opened, open } = gate();
  let looks = 0;
  const { host, write, work } = await bare({
    clock,
    looks: async () => {
      if ((looks += 1) === 2) await opened; // the first is that of the host as it is made
    },
  });
  await work();
  const first = host.extensions.refresh();
  await expect.poll(() => looks).toBe(2);
  write('return 2;');
  const hinted = host.extensions.refresh();
  await clock.advance(1000);
  const message = host.refreshIfOlderThan(1000);
  open();
  expect([...(await first)]).toEqual([]);
  await message;
  expect(await work()).toEqual({ ok: true, output: 2 });
  expect([...(await hinted)]).toEqual(['it']);
  expect(looks).toBe(3);
  await host.stop();
});

it('K20 a change that could not be told fails neither the look that found it nor any turn after it', async () => {
  const { host, write, work, directory } = await bare({ renewed: () => Promise.reject(new Error('nobody listens')) });
  await work();
  write('return 2;');
  await host.refreshIfOlderThan(0);
  await host.refreshIfOlderThan(1000);
  expect(await work()).toEqual({ ok: true, output: 2 });
  await host.stop();
  expect(await readFile(path.join(directory, 'data/logs/pith.log'), 'utf8')).toContain('nobody listens');
});

it('K6 says of a shipped extension that it was changed, and the cure', async () => {
  const { host, write } = await bare({ isAltered: true });
  expect(host.extensions.show('it')).toMatchObject({
    notes: [
      {
        code: 'not_as_shipped',
        message: expect.stringContaining('its files are not those'),
        cure: expect.stringContaining('npm run build'),
      },
    ],
  });
  write('return 1;', "constructor() { throw new Error('no table'); }");
  await host.extensions.refresh();
  await host.extensions.activate('it');
  expect(host.extensions.show('it')).toMatchObject({
    state: 'failed',
    message: 'no table (its files are not those that Pith was built with)',
    cure: expect.stringMatching(/^if you did not change it, install Pith again; else .*correct the source/u),
  });
  await host.stop();
});
