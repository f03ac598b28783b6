import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { fakeClock, scriptedModel, type TestKernel } from 'pith/testing';
import { packageRoot } from '../../../core/declarations/index.ts';
import { NewProblems } from '../../../core/compose/index.ts';
import { kernelOf } from '../../places.ts';
import { agentFile, skillFile, toolExtension } from '../../journeys/sandbox-files.ts';

const FILES: Readonly<Record<string, string>> = {
  ...toolExtension('hello_tool', 'hello', "'hello'"),
  'agents/me/manifest.yaml': agentFile('me', { uses_tools: ['hello_tool', 'skill_registry'] }),
  'skills/hello/SKILL.md': skillFile('hello', 'Says hello.', 'Say hello.'),
  'pith.yaml': 'default_agent: me\n',
};
const MANIFEST = FILES['extensions/hello_tool/manifest.yaml']!;
const SLIPS: readonly (readonly [string, string, string, RegExp])[] = [
  [
    'provids in a manifest',
    'extensions/hello_tool/manifest.yaml',
    MANIFEST.replace('provides', 'provids'),
    /'provides' is missing|provids/u,
  ],
  [
    'a value of enabled',
    'extensions/hello_tool/manifest.yaml',
    MANIFEST.replace('{', '{ "enabled": "flase",'),
    /'enabled' must be true or false/u,
  ],
  ['a syntax error', 'extensions/hello_tool/main.ts', 'export default class {', /main\.ts|Expected|end of file/u],
  ['an unknown tool', 'agents/me/manifest.yaml', agentFile('me', { uses_tools: ['core_tool'] }), /core_tool/u],
  ['a wrong deny', 'agents/me/manifest.yaml', agentFile('me', { uses_tools: [], skills: { deny: 'hello' } }), /skills\.deny/u],
  ['a name in skills.disabled', 'pith.yaml', 'default_agent: me\nskills: { disabled: [helo] }\n', /skills\.disabled names 'helo'/u],
  [
    'a name in deny',
    'agents/me/manifest.yaml',
    agentFile('me', { uses_tools: ['skill_registry'], skills: { deny: ['helo'] } }),
    /skills\.deny names 'helo'/u,
  ],
  ['a misspelt key', 'agents/me/manifest.yaml', agentFile('me', { uses_tols: [] }), /uses_tols/u],
];

/** What a conversation is told from now on. */
function messagesOf({ kernel }: TestKernel): readonly string[] {
  const told: string[] = [];
  kernel.events.handle('extension.failed', ({ phase, message }) => void (phase === 'reload' && told.push(message)));
  kernel.events.handle('problem.found', ({ message }) => void told.push(message));
  return told;
}

describe('an edit that breaks something while Pith runs', () => {
  it.each(SLIPS.flatMap(([...slip]) => [[...slip, false] as const, [...slip, true] as const]))(
    'is said once: %s in %s',
    async (_what, file, text, message, wasUsed) => {
      const clock = fakeClock();
      const world = await kernelOf({ files: FILES, clock, model: scriptedModel([{ text: 'ok' }, { text: 'ok' }]) });
      await world.run('zero');
      if (!wasUsed) await world.restart(); // what it has is known without its code
      const { kernel } = world;
      const told = messagesOf(world);
      await kernel.start();
      await kernel.problems();
      expect(await world.run('one', { threadId: 'other' })).toMatchObject({ reason: 'done' });
      expect(kernel.host.extensions.show('hello_tool')?.generation).toBe(wasUsed ? 1 : 0);
      await world.write(file, text);
      await kernel.host.extensions.refresh();
      await expect.poll(() => told).toEqual([expect.stringMatching(message)]);
      await kernel.host.extensions.refresh();
      await clock.advance(11_000);
      expect(told).toHaveLength(1);
    },
  );

  it('whose reload fails says nothing again when it is corrected: no note of that extension', async () => {
    const noted = { ...FILES, 'extensions/hello_tool/manifest.yaml': MANIFEST.replace('{', '{ "descripton": "Greets",') };
    const world = await kernelOf({ files: noted, model: scriptedModel([{ text: 'ok' }]) });
    await world.run('zero');
    await world.kernel.start();
    expect(await world.kernel.problems()).toMatchObject([{ message: expect.stringContaining('descripton') }]);
    const told = messagesOf(world);
    for (const text of ['export default class {', FILES['extensions/hello_tool/main.ts']!]) {
      await world.write('extensions/hello_tool/main.ts', text);
      await world.kernel.host.extensions.refresh();
    }
    expect(told).toHaveLength(1);
    expect(told[0]).not.toContain('descripton');
  });

  it('does not say again what a start said of skills', async () => {
    const world = await kernelOf({
      files: { ...FILES, 'pith.yaml': 'default_agent: me\nskills: { disabled: [helo], sources: [missing] }\n' },
    });
    await world.kernel.start();
    expect(await world.kernel.problems()).toMatchObject([
      { message: "the skill source 'missing' does not exist" },
      { message: expect.stringContaining("skills.disabled names 'helo'") },
    ]);
    const told = messagesOf(world);
    await world.write('pith.yaml', 'default_agent: me\nlogs: 1\nskills: { disabled: [helo], sources: [missing] }\n');
    await world.kernel.host.extensions.refresh();
    await expect.poll(() => told).toEqual([expect.stringContaining("'logs'")]);
  });

  it('before everything has started keeps in mind what is known of agents', async () => {
    const world = await kernelOf({ files: { ...FILES, 'agents/me/manifest.yaml': agentFile('me', { uses_tools: ['hello_tol'] }) } });
    expect(await world.kernel.problems()).toHaveLength(1);
    const told = messagesOf(world);
    await world.write('pith.yaml', 'default_agent: me\nlog: 1\n');
    await world.kernel.host.extensions.refresh();
    await world.kernel.start();
    await world.write('pith.yaml', 'default_agent: me\nlogs: 1\n');
    await world.kernel.host.extensions.refresh();
    expect(told).toEqual([expect.stringContaining("'logs'")]);
  });
});

it('of two collections of problems only the one that began last is published', async () => {
  const told: string[] = [];
  const collections: ((messages: readonly string[]) => void)[] = [];
  const problems = new NewProblems({ publish: (_: string, { message }: { message: string }) => void told.push(message) } as never, () =>
    new Promise<readonly string[]>((resolve) => collections.push(resolve)).then((messages) =>
      messages.map((message) => ({ severity: 'error', code: 'internal', message })),
    ),
  );
  problems.watch();
  const runs = [problems.publish(), problems.publish()];
  collections[1]!(['still wrong']);
  collections[0]!(['still wrong', 'corrected meanwhile']);
  await Promise.all(runs);
  expect(told).toEqual(['still wrong']);
});

it('J7: an idle kernel looks every five seconds at the files of its sandbox, and at those that ship only when something tells of a change', async () => {
  const clock = fakeClock();
  const { kernel, sandbox } = await kernelOf({ files: FILES, clock });
  await kernel.start();
  const looks = vi.spyOn(fs, 'statSync');
  onTestFinished(() => looks.mockRestore());
  const looksAt = (folder: string) => looks.mock.calls.filter(([file]) => file === path.join(folder, 'manifest.yaml')).length;
  for (let second = 0; second < 60; second += 1) await clock.advance(1000);
  expect(looksAt(path.join(sandbox, 'extensions/hello_tool'))).toBeGreaterThanOrEqual(11);
  expect(looksAt(path.join(packageRoot(), 'sandbox/extensions/core_tools'))).toBeLessThanOrEqual(2); // the watcher tells when it is ready
});
