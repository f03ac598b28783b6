import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { type TestKernel } from 'pith/testing';
import { main, manifest } from '../process/extension.ts';
import { kernelOf } from '../../places.ts';

/** Counts in a file how often it was initialised, refuses by its schema what is above nine, and seven when it begins. */
const COUNTING = main(
  'mine',
  `static config = z.object({ level: z.number().max(9) }).strict();
   async initialize() {
     appendFileSync(path.join(this.context.dataDirectory, 'begun'), this.context.config.level + ' ');
     if (this.context.config.level === 7) throw new Error('seven is taken');
   }
   getTools() { return [defineTool({ name: 'level', description: 'd', input: z.object({}), effect: 'read', execute: async () => this.context.config.level })]; }`,
  "import { appendFileSync } from 'node:fs'; import path from 'node:path';",
);

describe.each(['in_process', 'process'] as const)('settings of an extension that runs %s', (isolation) => {
  const open = async (): Promise<TestKernel> =>
    await kernelOf({
      isolation,
      only: [],
      flags: { extensions_sandbox: 'off' },
      files: {
        ...manifest('mine', { provides: ['tool'], config: { level: 1 } }),
        ...COUNTING,
        'agents/asker/manifest.yaml': 'id: asker\nagent: { uses_tools: ["*"] }\n',
      },
    });
  const level = async ({ kernel }: TestKernel) => {
    const result = await kernel.agents.callTool('asker', 'level', {});
    return result.ok ? result.output : result.error;
  };
  const begun = async ({ sandbox }: TestKernel) =>
    (await readFile(path.join(sandbox, 'data', 'extensions', 'mine', 'begun'), 'utf8')).trim().split(' ').map(Number);

  it('B10: are checked by the schema alone: no second version begins beside the one that runs', async () => {
    const opened = await open();
    const { setup } = opened.kernel.host;
    expect(await level(opened)).toBe(1);
    await expect(setup.configure('mine', { 'extensions.mine.level': 10 })).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining('extensions.mine.level'),
    });
    expect(await begun(opened)).toEqual([1]);
    await setup.configure('mine', { 'extensions.mine.level': 2 });
    expect(await level(opened)).toBe(2);
    expect(await begun(opened)).toEqual([1, 2]);
  });

  it('B10: that the schema takes and the extension cannot use leave the former ones in use, and that is said', async () => {
    const opened = await open();
    const { extensions, setup } = opened.kernel.host;
    expect(await level(opened)).toBe(1);
    expect(await setup.configure('mine', { 'extensions.mine.level': 7 })).toMatchObject({
      state: 'active',
      phase: 'reload',
      message: expect.stringMatching(/New version is invalid; still running the previous one: .*seven is taken/),
    });
    expect(await level(opened)).toBe(1);
    await extensions.refresh();
    expect(await begun(opened)).toEqual([1, 7, 1]); // it is not tried again until something changes
    await setup.configure('mine', { 'extensions.mine.level': 3 });
    expect(await level(opened)).toBe(3);
    expect(extensions.show('mine')?.phase).toBeUndefined();
  });
});
