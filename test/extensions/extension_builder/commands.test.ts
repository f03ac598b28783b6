import { existsSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { captureCommand, type CapturedCommand } from '@pith/command-line';
import { testKernel } from 'pith/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { kernelCommands } from '../../../core/cli/index.ts';
import { shippedSandbox } from '../../../core/declarations/index.ts';
import { usePlaces } from '../fake-context.ts';
import commands from '../../../sandbox/extensions/extension_builder/commands.ts';
import { KINDS } from '../../../sandbox/extensions/extension_builder/templates.ts';
import { folderWith } from '../../places.ts';

let sandbox: string;
beforeEach(async () => void (sandbox = folderWith()));

const run = (path: string, id: string, options = {}): Promise<CapturedCommand> =>
  captureCommand(
    { getCommands: () => commands({ use: usePlaces({ sandbox, shippedSandbox: shippedSandbox() }) }) },
    path,
    { arguments: { id }, options },
    new AbortController().signal,
  );

describe('new from templates', () => {
  it('K74 an extension of each kind and an agent load as they are made', async () => {
    for (const kind of KINDS) expect((await run('extensions new', `my_${kind}_one`, { kind })).exitCode).toBe(0);
    await run('agents new', 'travel_agent');
    expect((await readdir(join(sandbox, 'extensions'))).sort()).toEqual(KINDS.map((kind) => `my_${kind}_one`).sort());
    await using test = await testKernel({ sandbox, env: { PITH_MODEL: 'offline/librarian' } });
    const { extensions, agents } = await test.kernel.doctor();
    expect([...extensions, ...agents].filter(({ state }) => state !== 'active')).toEqual([]);
    expect(agents.map(({ id }) => id)).toContain('travel_agent');
    expect(await test.kernel.callTool('orchestrator', 'greet_person', { name: 'Ada' })).toMatchObject({
      ok: true,
      output: { text: 'Hello, Ada!' },
    });
  }, 60_000);

  it('K74 nothing is written into what ships with Pith from outside of it', async () => {
    const from = process.cwd();
    process.chdir(sandbox);
    sandbox = shippedSandbox();
    try {
      await expect(run('extensions new', 'stray')).rejects.toMatchObject({ code: 'usage', cure: expect.stringContaining('pith init') });
      expect(existsSync(join(sandbox, 'extensions/stray'))).toBe(false);
    } finally {
      await rm(join(sandbox, 'extensions/stray'), { recursive: true, force: true });
      sandbox = process.cwd();
      process.chdir(from);
    }
  });

  it('K72 without a former version rollback says so', async () => {
    await using test = await testKernel({ sandbox, commands: kernelCommands });
    await test.write('extensions/only_one/manifest.yaml', 'id: only_one\n');
    const source = { getCommands: () => test.kernel.host.providers.commands.of('extension_builder') };
    const back = captureCommand(source, 'extensions rollback', { arguments: { id: 'only_one' } }, new AbortController().signal);
    await expect(back).rejects.toThrow("'only_one' has no former version to go back to");
  });

  it('K74 nothing is overwritten, and what cannot be an id or a kind is told with the cure', async () => {
    await run('extensions new', 'my_dice');
    await expect(run('extensions new', 'my_dice')).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringContaining('exists already'),
    });
    await expect(run('extensions new', '../../etc')).rejects.toMatchObject({ code: 'usage', cure: expect.stringContaining('snake_case') });
    await expect(run('extensions new', 'other', { kind: 'tols' })).rejects.toMatchObject({
      message: expect.stringContaining("did you mean 'tool'"),
    });
    expect(await readdir(join(sandbox, 'extensions'))).toEqual(['my_dice']);
  });
});

it('K71 a typo in the id of an extension to check is told with the nearest one', async () => {
  await run('extensions new', 'hello');
  await using test = await testKernel({ sandbox, commands: kernelCommands });
  const found = (await test.kernel.host.providers.commands.of('extension_builder')).find(({ path }) => path === 'extensions validate');
  const provider = { getCommands: () => (found === undefined ? [] : [found]) };
  const validate = (what: string) =>
    captureCommand(provider, 'extensions validate', { arguments: { what }, options: {} }, new AbortController().signal);
  await expect(validate('helo')).rejects.toMatchObject({ code: 'not_found', message: expect.stringContaining("did you mean 'hello'?") });
}, 30_000);
