import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { JsonValue, KeyValue } from '../../../core/contract/index.ts';
import {
  configOf,
  createEvents,
  discover,
  enabledBy,
  ExtensionHost,
  loadSettings,
  packageRoot,
  systemClock,
} from '../../../core/kernel/index.ts';
import { createLoader } from '../../../core/loader/index.ts';
import { extension, indexIn, writeFiles } from './sandbox-folder.ts';
import { CALL, NEVER, toolClass } from './sandbox.ts';

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

it('the kernel alone boots, reloads and stops: without a database, processes, agents or durable events', async () => {
  const directory = await realpath(await mkdtemp(path.join(os.tmpdir(), 'pith-bare-')));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const main = path.join(directory, 'extensions/counter/main.ts');
  const counter = (step: number) =>
    `import { defineTool, z } from 'pith';\n${toolClass(`const n = ((await this.kv.get('n')) ?? 0) + ${step}; await this.kv.set('n', n); return n;`, 'constructor({ kv }) { this.kv = kv; }').replace('async execute(input, call)', 'execute: async (input, call) =>')}`;
  writeFiles(directory, { ...extension('counter'), 'extensions/counter/main.ts': counter(1) });
  const { settings } = await loadSettings({ sandbox: directory, env: {}, workingDirectory: directory });
  const index = indexIn(directory);
  const kv = memory();
  const events = createEvents({ onListenerError: absent });
  const host = await ExtensionHost.create({
    places: { sandbox: directory, dataDirectory: path.join(directory, 'data') },
    source: {
      discover: (at) => discover({ roots: [{ directory, shipped: false }], agentPaths: [], index, isEnabled: enabledBy(settings), at }),
      watched: [],
    },
    configOf: (declaration) => configOf(declaration, settings),
    index,
    clock: systemClock,
    loader: createLoader({ dataDirectory: path.join(directory, 'data'), packageRoot: packageRoot() }),
    secrets: { env: {} },
    services: {
      events,
      keyValue: () => kv,
      database: absent,
      confined: absent,
      agents: { list: absent, find: absent, check: absent, run: absent },
    },
    renderPrompt: absent,
    calls: { isolation: 'in_process' },
    toolsets: { packageRoot: packageRoot() },
  });
  const work = () => host.callTool('counter', 'work', {}, CALL, NEVER);
  expect(await work()).toEqual({ ok: true, output: 1 });
  await writeFile(main, counter(10));
  expect(await host.refresh()).toEqual(new Set(['counter']));
  expect(await work()).toEqual({ ok: true, output: 11 });
  await expect(events.publish('notify', { text: 'hello' } as never)).rejects.toThrow(/keeps no events/);
  await host.stop();
  expect(host.failures()).toEqual([]);
});
