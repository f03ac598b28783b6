import { beforeEach, describe, expect, it } from 'vitest';
import { fakeClock } from 'pith/testing';
import { callTool, testSandbox, type TestSandbox, toolClass } from './extensions.ts';
import { passing } from '../../waiting.ts';

const DAY_MS = 24 * 60 * 60_000;

let sandbox: TestSandbox;
beforeEach(() => void (sandbox = testSandbox()));

/** A clock whose timers go on while its time is set. */
function clockToSet() {
  const clock = fakeClock();
  let offset = 0;
  return { ...clock, now: () => clock.now() + offset, setBack: (ms: number) => void (offset -= ms) };
}

describe('a clock that is set back by a day', () => {
  it('K11: a process that ended is started again within a minute', async () => {
    const clock = clockToSet();
    const end = `if (!input.n) return 'well'; (await import('node:fs')).writeSync(3, Buffer.alloc(8, 255)); return new Promise(() => {});`;
    await sandbox.extension('mine', 'tool', toolClass(end));
    const host = await sandbox.host({ isolation: 'process', clock });
    for (let round = 0; round < 2; round++) expect(await callTool(host, 'mine', 'work', { n: 1 })).toMatchObject({ ok: false });
    clock.setBack(DAY_MS);
    const answer = callTool(host, 'mine');
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
    expect(await callTool(host, 'it')).toMatchObject({ output: 1 });
    await sandbox.extension('it', 'tool', toolClass('return 2;'));
    clock.setBack(DAY_MS);
    await host.refreshIfOlderThan(1000);
    expect(await callTool(host, 'it')).toMatchObject({ output: 2 });
  });

  it('K11: what crashed a day later by the clock does not count', async () => {
    const clock = clockToSet();
    await sandbox.extension('it', 'service', 'export default class { runBackground() { throw new Error("crashed"); } }');
    const host = await sandbox.host({ clock });
    await host.startServices();
    await clock.advance(1000);
    clock.setBack(DAY_MS);
    await clock.advance(2000);
    expect(sandbox.failures).toHaveLength(3);
    expect(host.extensions.state('it')).toBe('active');
  });

  it('K11: a process that is idle still ends', async () => {
    const clock = clockToSet();
    await sandbox.extension('it', 'tool', toolClass('return 1;'));
    const host = await sandbox.host({ isolation: 'process', clock });
    await callTool(host, 'it');
    expect(host.extensions.state('it')).toBe('active');
    clock.setBack(DAY_MS);
    await passing(clock, () => host.extensions.state('it') === 'idle', 60_000);
  });
});
