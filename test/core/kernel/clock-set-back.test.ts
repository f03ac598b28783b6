import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isBreakerOpen, withCrash } from '../../../core/kernel/lifecycle/crashes.ts';
import { endWhenIdle } from '../../../core/process/remote-generation.ts';
import { fakeClock, testKernel, type TestKernel } from 'pith/testing';
import { manifest, tools } from '../process/extension.ts';
import { CALL, NEVER, testSandbox, toolClass, type TestSandbox } from './sandbox.ts';

const DAY_MS = 24 * 60 * 60_000;

let sandbox: TestSandbox;
let kernel: TestKernel | undefined;
beforeEach(async () => void (sandbox = await testSandbox()));
afterEach(async () => {
  await sandbox.close();
  await kernel?.stop();
});

/** A clock whose timers go on while its time is set. */
function clockToSet() {
  const clock = fakeClock();
  let offset = 0;
  return { ...clock, now: () => clock.now() + offset, setBack: (ms: number) => void (offset -= ms) };
}

describe('a clock that is set back by a day', () => {
  it('K11: a process that ended is started again within a minute', async () => {
    const clock = clockToSet();
    const end = `defineTool({ name: 'end', description: 'd', input: z.object({}), execute: () => { fs.writeSync(3, Buffer.alloc(8, 255)); return new Promise(() => {}); } })`;
    const calm = `defineTool({ name: 'calm', description: 'd', input: z.object({}), execute: () => 'well' })`;
    kernel = await testKernel({
      isolation: 'process',
      shipped: false,
      clock,
      files: {
        ...manifest('mine', { provides: ['tool'] }),
        ...tools('mine', `${end}, ${calm}`, `import fs from 'node:fs';`),
        'agents/asker/manifest.yaml': 'id: asker\nagent: { uses_tools: ["*"] }\n',
      },
    });
    const pith = kernel.kernel;
    expect(await pith.callTool('asker', 'end', {})).toMatchObject({ ok: false });
    expect(await pith.callTool('asker', 'end', {})).toMatchObject({ ok: false });
    clock.setBack(DAY_MS);
    const answer = pith.callTool('asker', 'calm', {});
    for (let second = 0; second < 60; second++) {
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
      await clock.advance(1000);
    }
    expect(await answer).toMatchObject({ ok: true, output: 'well' });
  });

  it('K20: edits are still seen', async () => {
    const clock = clockToSet();
    await sandbox.extension('it', 'tool', toolClass('return 1;'));
    const host = await sandbox.host({ clock });
    expect(await host.callTool('it', 'work', {}, CALL, NEVER)).toMatchObject({ output: 1 });
    await sandbox.extension('it', 'tool', toolClass('return 2;'));
    clock.setBack(DAY_MS);
    await host.refreshIfOlderThan(1000);
    expect(await host.callTool('it', 'work', {}, CALL, NEVER)).toMatchObject({ output: 2 });
  });

  it('K11: what crashed a day later by the clock does not count, and what is idle still ends', async () => {
    expect(isBreakerOpen(withCrash([2 * DAY_MS, 2 * DAY_MS + 1], DAY_MS))).toBe(false);
    const clock = clockToSet();
    let ended = 0;
    endWhenIdle({ clock, busy: () => false, ended: () => void (ended += 1) });
    clock.setBack(DAY_MS);
    await clock.advance(5 * 60_000);
    await clock.advance(5 * 60_000);
    expect(ended).toBe(1);
  });
});
