import fs from 'node:fs';
import path from 'node:path';
import { PithError } from 'pith';
import { fakeClock, scriptedModel } from 'pith/testing';
import { expect, it, onTestFinished } from 'vitest';
import { CLOCK, createKernel, createParts, MODEL_ROUTER, PROCESS_TIER, STORE } from '../../../core/compose/index.ts';
import { openStore } from '../../../core/store/index.ts';
import { systemClock } from '@pith/promises';
import { folderWith, writeFiles } from '../../places.ts';

const NOTICE = { v: 1, text: 'here', kind: 'info', target: null, threadId: null, userId: null } as const;

/** A kernel of these parts over a sandbox with `files`. */
async function kernelWith(parts: ReturnType<typeof createParts>, files: Readonly<Record<string, string>> = {}) {
  const sandbox = path.join(folderWith(), 'sandbox');
  fs.mkdirSync(sandbox);
  writeFiles(sandbox, files);
  const kernel = await createKernel({ accepts: true, sandbox, env: {}, home: null, only: [] }, parts);
  onTestFinished(() => kernel.stop());
  return { kernel, databaseFile: path.join(sandbox, 'data/pith.db') };
}

it('A9 another clock is registered over its token, and every part of the kernel goes by it', async () => {
  const parts = createParts().createChildContainer();
  parts.register(CLOCK, { useValue: fakeClock(86_400_000) });
  const { kernel } = await kernelWith(parts, {
    'extensions/found/manifest.yaml': 'id: other\n',
    'extensions/made/manifest.yaml': 'id: made\nentrypoint: main.ts\nprovides: [service]\n',
    'extensions/made/main.ts': 'export default class {\n',
  });
  await kernel.host.extensions.activate('made');
  expect(kernel.host.extensions.failures().map(({ extensionId, at }) => [extensionId, at])).toEqual([
    ['found', 86_400_000],
    ['made', 86_400_000],
  ]);
});

it('A9 another store is registered over its token: all is kept there, and who made it closes it', async () => {
  const store = openStore(path.join(folderWith(), 'elsewhere.db'), systemClock);
  onTestFinished(() => store.close());
  const parts = createParts().createChildContainer();
  parts.register(STORE, { useValue: store });
  const { kernel, databaseFile } = await kernelWith(parts);
  await kernel.events.publish('notify', NOTICE);
  await kernel.stop();
  expect(store.all('SELECT topic FROM events')).toEqual([{ topic: 'notify' }]);
  expect(fs.existsSync(databaseFile)).toBe(false);
});

it('A9 another model router is registered over its token, and turns ask it', async () => {
  const { model } = scriptedModel([{ text: 'from elsewhere' }]);
  const asked: string[] = [];
  const choice = { ref: 'mine/one', why: 'there is no other' };
  const parts = createParts().createChildContainer();
  parts.register(MODEL_ROUTER, {
    useValue: {
      choose: async () => choice,
      resolve: async (name) => {
        asked.push(name);
        return { ...choice, model, contextWindow: null };
      },
      servers: async () => [],
      problem: async () => null,
      meant: async (text) => text,
      check: () => 'default',
      isAlias: () => true,
      providerOf: () => null,
      price: () => null,
      invalidate: () => undefined,
    },
  });
  const { kernel } = await kernelWith(parts, { 'agents/main/manifest.yaml': 'id: main\nagent: { model: deep }\n' });
  const said: string[] = [];
  for await (const event of kernel.agents.run({ agent: 'main', threadId: 'one', input: 'hi' })) {
    if (event.type === 'turn-end') said.push(event.text);
  }
  expect(said).toEqual(['from elsewhere']);
  expect(asked).toEqual(['deep']);
});

it('A9 another process tier is registered over its token, and extensions outside the kernel are given to it', async () => {
  const given: string[] = [];
  const refuse = async ({ declaration }: { readonly declaration: { readonly id: string } }) => {
    given.push(declaration.id);
    throw new PithError('not_allowed', 'nothing runs here');
  };
  const parts = createParts().createChildContainer();
  parts.register(PROCESS_TIER, {
    useValue: () => ({
      construct: refuse,
      checkSettings: refuse,
      settingsSchema: refuse,
      openEntry: refuse,
      confinement: async () => null,
    }),
  });
  const { kernel } = await kernelWith(parts, {
    'extensions/mine/manifest.yaml': 'id: mine\nentrypoint: main.ts\nprovides: [service]\n',
    'extensions/mine/main.ts': 'export default class {}\n',
  });
  expect(await kernel.host.extensions.activate('mine')).toMatchObject({ state: 'failed', message: 'nothing runs here' });
  expect(given).toEqual(['mine']);
});

it('A9 each kernel makes its parts when it first asks for them, and releases those that it made', async () => {
  const parts = createParts();
  const [one, two] = [await kernelWith(parts), await kernelWith(parts)];
  expect(one.kernel.events).not.toBe(two.kernel.events);
  expect(fs.existsSync(one.databaseFile)).toBe(false);
  await one.kernel.events.publish('notify', NOTICE);
  expect([one, two].map(({ databaseFile }) => fs.existsSync(databaseFile))).toEqual([true, false]);
  await one.kernel.stop();
  await expect(one.kernel.events.publish('notify', NOTICE)).rejects.toThrow('closed');
  await two.kernel.events.publish('notify', NOTICE);
});
