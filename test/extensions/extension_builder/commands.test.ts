import { existsSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { captureCommand } from '@pith/command-line';
import type { TestKernel } from 'pith/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { kernelCommands } from '../../../core/cli/index.ts';
import { shippedSandbox } from '../../../core/declarations/index.ts';
import commands from '../../../sandbox/extensions/extension_builder/commands.ts';
import { KINDS } from '../../../sandbox/extensions/extension_builder/templates.ts';
import { kernelOf } from '../../places.ts';

let pith: TestKernel;
let extensions: string;
beforeEach(async () => {
  pith = await kernelOf({ env: { PITH_MODEL: 'offline/librarian' }, commands: kernelCommands });
  extensions = path.join(pith.sandbox, 'extensions');
});

describe('new from templates', () => {
  it('K74 an extension of each kind and an agent load as they are made', async () => {
    for (const kind of KINDS) expect((await pith.command(`extensions new my_${kind}_one --kind ${kind}`)).code).toBe(0);
    await pith.command('agents new travel_agent');
    expect((await readdir(extensions)).sort()).toEqual(KINDS.map((kind) => `my_${kind}_one`).sort());
    await pith.restart();
    const { agents, ...found } = await pith.kernel.doctor();
    expect([...found.extensions, ...agents].filter(({ state }) => state !== 'active')).toEqual([]);
    expect(agents.map(({ id }) => id)).toContain('travel_agent');
    expect(await pith.kernel.agents.callTool('orchestrator', 'greet_person', { name: 'Ada' })).toMatchObject({
      ok: true,
      output: { text: 'Hello, Ada!' },
    });
  }, 60_000);

  it('K74 nothing is written into what ships with Pith from outside of it', async () => {
    const shipped = { sandbox: shippedSandbox(), shippedSandbox: shippedSandbox() };
    const source = { getCommands: () => commands({ use: () => shipped as never }) };
    const stray = path.join(shippedSandbox(), 'extensions/stray');
    const from = process.cwd();
    process.chdir(pith.sandbox);
    try {
      const made = captureCommand(source, 'extensions new', { arguments: { id: 'stray' } }, new AbortController().signal);
      await expect(made).rejects.toMatchObject({ code: 'usage', cure: expect.stringContaining('pith init') });
      expect(existsSync(stray)).toBe(false);
    } finally {
      await rm(stray, { recursive: true, force: true });
      process.chdir(from);
    }
  });

  it('K72 without a former version rollback says so', async () => {
    await pith.write('extensions/only_one/manifest.yaml', 'id: only_one\n');
    await expect(pith.command('extensions rollback only_one')).rejects.toThrow("'only_one' has no former version to go back to");
  });

  it('K74 nothing is overwritten, and what cannot be an id or a kind is told with the cure', async () => {
    await pith.command('extensions new my_dice');
    await expect(pith.command('extensions new my_dice')).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringContaining('exists already'),
    });
    await expect(pith.command('extensions new ../../etc')).rejects.toMatchObject({
      code: 'usage',
      cure: expect.stringContaining('snake_case'),
    });
    await expect(pith.command('extensions new other --kind tols')).rejects.toMatchObject({
      message: expect.stringContaining("did you mean 'tool'"),
    });
    expect(await readdir(extensions)).toEqual(['my_dice']);
  });
});

it('K71 a typo in the id of an extension to check is told with the nearest one', async () => {
  await pith.command('extensions new hello');
  const validated = pith.command('extensions validate helo');
  await expect(validated).rejects.toMatchObject({ code: 'not_found', message: expect.stringContaining("did you mean 'hello'?") });
}, 30_000);
