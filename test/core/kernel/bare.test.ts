import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import type { JsonValue, KeyValue } from '../../../core/contract/index.ts';
import {
  configOf,
  createEvents,
  discover,
  enabledBy,
  createHost,
  loadSettings,
  packageRoot,
  systemClock,
} from '../../../core/kernel/index.ts';
import { createLoader } from '../../../core/loader/index.ts';
import { fakeClock } from 'pith/testing';
import { extension, folderWith, indexIn, writeFiles } from './sandbox-folder.ts';
import { CALL, NEVER, toolClass } from './extensions.ts';

function memory(): KeyValue {
  const values = new Map<string, JsonValue>();
  return {
    get: async (key) => values.get(key) ?? null,
    set: async (key, value) => void values.set(key, value),
    delete: async (key) => values.delete(key),
    keys: async (prefix = '') => [...values.keys()].filter((key) => key.startsWith(prefix)),
  };
}

const absent = () => {
  throw new Error('absent');
};

/** The kernel alone over a sandbox with the extension `it`: without a database, processes, agents or durable events. */
async function bare({ clock = systemClock, looks = async () => undefined as void, renewed = async () => undefined as void } = {}) {
  const directory = folderWith({});
  const write = (body: string, more = '') =>
    writeFiles(directory, {
      ...extension('it'),
      'extensions/it/main.ts': `import { defineTool, z } from 'pith';\n${toolClass(body, more).replace('async execute(input, call)', 'execute: async (input, call) =>')}`,
    });
  write('return 1;');
  const { settings } = await loadSettings({ sandbox: directory, env: {}, workingDirectory: directory });
  const index = indexIn(directory);
  const kv = memory();
  const events = createEvents({ onListenerError: absent });
  const host = await createHost({
    places: { sandbox: directory, dataDirectory: path.join(directory, 'data') },
    source: {
      async discover(at) {
        const found = await discover({ roots: [{ directory, shipped: false }], agentPaths: [], index, isEnabled: enabledBy(settings), at });
        await looks();
        return found;
      },
      renewed,
      watched: [],
    },
    configOf: (declaration) => configOf(declaration, settings),
    index,
    clock,
    loader: createLoader({ dataDirectory: path.join(directory, 'data'), packageRoot: packageRoot() }),
    secrets: { env: {} },
    services: {
      events,
      keyValue: () => kv,
      database: absent,
      confined: absent,
      agents: { list: absent, find: absent, check: absent, run: absent },
    },
    calls: { isolation: 'in_process' },
    toolsets: { packageRoot: packageRoot() },
  });
  return { directory, write, events, host, work: () => host.providers.tools.call('it', 'work', {}, { ...CALL, signal: NEVER }) };
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
  let open = (): void => undefined;
  const gate = new Promise<void>((resolve) => (open = resolve));
  let looks = 0;
  const { host, write, work } = await bare({
    clock,
    looks: async () => {
      if ((looks += 1) === 2) await gate; // the first is that of the host as it is made
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
