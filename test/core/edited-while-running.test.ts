import { afterEach, describe, expect, it } from 'vitest';
import type { Failure } from '../../core/contract/index.ts';
import { fakeClock, scriptedModel, testKernel, type TestKernel } from '../../core/testing/index.ts';
import { agentFile, skillFile, toolExtension } from '../journeys/sandbox-files.ts';

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
  ['a misspelt key', 'agents/me/manifest.yaml', agentFile('me', { uses_tols: [] }), /uses_tols/u],
];

describe('an edit that breaks something while Pith runs', () => {
  let world: TestKernel | undefined;
  afterEach(() => world?.stop());

  it.each(SLIPS.flatMap(([...slip]) => [[...slip, false] as const, [...slip, true] as const]))(
    'is said once: %s in %s',
    async (_what, file, text, message, wasUsed) => {
      const clock = fakeClock();
      world = await testKernel({ files: FILES, clock, model: scriptedModel([{ text: 'ok' }, { text: 'ok' }]) });
      await world.run('zero');
      if (!wasUsed) await world.restart(); // what it has is known without its code
      const { kernel } = world;
      const told: Failure[] = [];
      kernel.events.handle('extension.failed', (failure) => void (failure.phase === 'reload' && told.push(failure)));
      await kernel.start();
      await kernel.problems();
      expect(await world.run('one', { threadId: 'other' })).toMatchObject({ reason: 'done' });
      expect(kernel.extensions.show('hello_tool')?.generation).toBe(wasUsed ? 1 : 0);
      await world.write(file, text);
      await kernel.extensions.refresh();
      await expect.poll(() => told.map((each) => each.message)).toEqual([expect.stringMatching(message)]);
      await kernel.extensions.refresh();
      await clock.advance(11_000);
      expect(told).toHaveLength(1);
    },
  );
});
