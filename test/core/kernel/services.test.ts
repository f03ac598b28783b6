import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fakeClock } from 'pith/testing';
import { isAlive } from '../process/hosts.ts';
import { callTool, testSandbox, type TestSandbox, toolClass } from './extensions.ts';
import { gate } from '../../waiting.ts';

let sandbox: TestSandbox;
let clock: ReturnType<typeof fakeClock>;
const state = globalThis as { serviceRuns?: number; serviceMode?: string; serviceStopped?: string };

const COUNTING = `export default class {
  async runBackground(signal: AbortSignal) {
    globalThis.serviceRuns++;
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
  }
}`;

beforeEach(async () => {
  sandbox = testSandbox();
  clock = fakeClock();
  state.serviceRuns = 0;
  state.serviceMode = 'crash';
  await sandbox.extension(
    'worker',
    'service, tool',
    toolClass(
      'return globalThis.serviceRuns;',
      `
    async runBackground(signal: AbortSignal) {
      globalThis.serviceRuns++;
      if (globalThis.serviceMode === 'crash') throw new Error('crashed');
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      globalThis.serviceStopped = signal.reason.name;
    }`,
    ),
  );
});
afterEach(() => sandbox.close());

describe('services', () => {
  for (const isolation of ['in_process', 'process'] as const)
    it(`start used: ${isolation}: calls start of what is activated, runs no service and wakes nothing; all: runs it, and start is not called again`, async () => {
      const started = `async start() { this.context.logger.info('started'); await this.context.kv.set('started', 1 + Number((await this.context.kv.get('started')) ?? 0)); }
        async runBackground(signal) { await this.context.kv.set('serves', true); await new Promise((resolve) => signal.addEventListener('abort', resolve)); }`;
      const body = (then: string) => `export default class {
        constructor(private readonly context) {}
        getTools() { return [defineTool({ name: 'facts', description: 'x', input: z.object({}), execute: async () =>
          ({ started: await this.context.kv.get('started'), serves: await this.context.kv.get('serves') }) })]; }
        ${then}
      }`;
      await sandbox.extension('used', 'service, tool', body(started));
      await sandbox.extension('asleep', 'service, tool', body(started));
      const host = await sandbox.host({ isolation });
      const facts = async () => {
        const found = await callTool(host, 'used', 'facts');
        return found.ok ? found.output : found.error;
      };
      await host.startServices('used');
      expect(await facts()).toEqual({ started: 1, serves: null });
      expect(host.extensions.state('asleep')).toBe('idle');
      await host.startServices();
      expect(host.extensions.state('asleep')).toBe('active');
      expect(await facts()).toEqual({ started: 1, serves: true });
    });

  it('K11 restarts later and later, and stops the extension after three crashes in five minutes', async () => {
    const host = await sandbox.host({ clock });
    await host.extensions.activate('worker');
    expect(state.serviceRuns).toBe(0);
    await host.startServices();
    await clock.advance(0);
    expect(state.serviceRuns).toBe(1);
    await clock.advance(999);
    expect(state.serviceRuns).toBe(1);
    await clock.advance(1);
    expect(state.serviceRuns).toBe(2);
    expect(host.extensions.state('worker')).toBe('active');
    await clock.advance(2000);
    expect(state.serviceRuns).toBe(3);
    expect(host.extensions.show('worker')).toMatchObject({
      state: 'failed',
      code: 'breaker_open',
      phase: 'background',
      message: expect.stringContaining('crashed'),
    });
    await clock.advance(600_000);
    expect(state.serviceRuns).toBe(3);
    expect(await callTool(host, 'worker')).toMatchObject({
      error: { code: 'tool_gone', message: expect.stringContaining('3 crashes') },
    });
    expect(sandbox.failures.filter(({ code }) => code === 'background_failed')).toHaveLength(3);
  });

  it('K11 lets it run again when it changes or is reloaded by hand', async () => {
    const host = await sandbox.host({ clock });
    const trip = async () => {
      state.serviceMode = 'crash';
      await host.startServices();
      for (let round = 0; round < 6 && host.extensions.state('worker') !== 'failed'; round++) await clock.advance(10_000);
      expect(host.extensions.state('worker')).toBe('failed');
      state.serviceMode = 'wait';
    };
    await trip();
    const runs = state.serviceRuns;
    expect(await host.extensions.reload('worker')).toMatchObject({ state: 'active' });
    expect(state.serviceRuns).toBe(runs! + 1);
    await host.stop();
    expect(state.serviceStopped).toBe('AbortError');
  });

  it('K11 K20 runs it again when its source has been mended', async () => {
    const host = await sandbox.host({ clock });
    await host.startServices();
    for (let round = 0; round < 6 && host.extensions.state('worker') !== 'failed'; round++) await clock.advance(10_000);
    expect(state.serviceRuns).toBe(3);
    state.serviceMode = 'wait';
    await sandbox.rewrite(host, 'extensions/worker/note.txt', 'mended');
    expect(host.extensions.state('worker')).toBe('active');
    expect(state.serviceRuns).toBe(4);
  });

  it('K20 runs a service that is added while services run, and leaves it at rest where they do not', async () => {
    state.serviceMode = 'wait';
    const host = await sandbox.host({ clock });
    await sandbox.edit(host, 'early', 'service', COUNTING);
    expect([host.extensions.state('early'), state.serviceRuns]).toEqual(['idle', 0]);
    await host.startServices();
    expect(state.serviceRuns).toBe(2);
    await sandbox.edit(host, 'late', 'service', COUNTING);
    expect([host.extensions.state('late'), state.serviceRuns]).toEqual(['active', 3]);
  });

  it('K20 runs a service again when what it depends on is back, or has been mended', async () => {
    state.serviceMode = 'wait';
    await sandbox.extension('base', 'tool', toolClass('return 1;'));
    await sandbox.extension('leaning', 'service', COUNTING, 'depends_on: [base]');
    const host = await sandbox.host({ clock });
    await host.startServices();
    expect(state.serviceRuns).toBe(2);
    await sandbox.remove('extensions/base');
    await host.extensions.refresh();
    expect(host.extensions.state('leaning')).toBe('blocked');
    await sandbox.edit(host, 'base', 'tool', toolClass('return 1;', 'constructor() { throw new Error("sick"); }'));
    expect([host.extensions.state('leaning'), state.serviceRuns]).toEqual(['blocked', 2]);
    await sandbox.edit(host, 'base', 'tool', toolClass('return 1;'));
    expect([host.extensions.state('leaning'), state.serviceRuns]).toEqual(['active', 3]);
  });

  it('K11 does not count crashes that lie further apart', async () => {
    const host = await sandbox.host({ clock });
    await host.startServices();
    await clock.advance(1000);
    expect(state.serviceRuns).toBe(2);
    state.serviceMode = 'wait';
    await clock.advance(2000);
    expect(state.serviceRuns).toBe(3);
    await clock.advance(300_000);
    expect(host.extensions.state('worker')).toBe('active');
  });

  it('K11 waits twice as long each time, and at most a minute', async () => {
    const crashes = globalThis as { crashK11?: () => void };
    await sandbox.extension(
      'slow',
      'service',
      `export default class { async runBackground(signal) { globalThis.serviceRuns++; await new Promise((resolve, reject) => { globalThis.crashK11 = reject; signal.addEventListener('abort', resolve); }); } }`,
    );
    await sandbox.remove('extensions/worker');
    const host = await sandbox.host({ clock });
    await host.startServices();
    let runs = 1;
    for (const delay of [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]) {
      await clock.advance(160_000); // so that two in five minutes are the most
      crashes.crashK11?.();
      await clock.advance(delay - 1);
      expect([delay, state.serviceRuns]).toEqual([delay, runs]);
      await clock.advance(1);
      expect([delay, state.serviceRuns]).toEqual([delay, ++runs]);
    }
  });

  it.each([
    ['initialize', false],
    ['start', false],
    ['start', true],
  ])('ends also what was in its %s when Pith ended (active before: %s): no service begins after that', async (phase, wasActive) => {
    const { opened, open } = gate();
    const log: string[] = [];
    Object.assign(globalThis, { lateGate: opened, lateLog: log });
    await sandbox.extension(
      'late',
      'service',
      `export default class {
        async ${phase}() { globalThis.lateLog.push('begins'); await globalThis.lateGate; globalThis.lateLog.push('has begun'); }
        async runBackground() { globalThis.lateLog.push('runs'); }
        stop() { globalThis.lateLog.push('stopped'); }
      }`,
    );
    state.serviceMode = 'wait';
    const host = await sandbox.host();
    if (wasActive) await host.extensions.activate('late');
    void host.startServices();
    await expect.poll(() => log).toEqual(['begins']);
    await host.stop();
    open();
    await expect.poll(() => log.toSorted()).toEqual(['begins', 'has begun', 'stopped']);
    expect(log).not.toContain('runs');
    expect(sandbox.failures).toEqual([]);
  });

  it.each(['initialize', 'start'])('ends at once the process of what was in its %s when Pith ended', async (phase) => {
    await sandbox.extension(
      'late',
      'service',
      `import { writeFileSync } from 'node:fs';
      export default class {
        constructor(private readonly context) {}
        async ${phase}() { writeFileSync(this.context.dataDirectory + '/pid', String(process.pid)); await new Promise(() => setInterval(() => {}, 1000)); }
        async runBackground() {}
      }`,
    );
    state.serviceMode = 'wait';
    const host = await sandbox.host({ isolation: 'process' });
    void host.startServices();
    const pid = () => Number(readFileSync(path.join(sandbox.directory, 'data/extensions/late/pid'), 'utf8'));
    await expect.poll(pid).toBeGreaterThan(0);
    await host.stop();
    await expect.poll(() => isAlive(pid())).toBe(false);
    expect(sandbox.failures).toEqual([]);
  });

  it('K2 what is depended on is initialised first, whatever its id', async () => {
    const order: string[] = ((globalThis as { initialised?: string[] }).initialised = []);
    const begins = (id: string) => toolClass('return 1;', `initialize() { globalThis.initialised.push('${id}'); }`);
    await sandbox.extension('a', 'tool', begins('a'), 'depends_on: [c]');
    await sandbox.extension('c', 'tool', begins('c'), 'depends_on: [d]');
    await sandbox.extension('d', 'tool', begins('d'));
    await (await sandbox.host()).extensions.activateAll();
    expect(order).toEqual(['d', 'c', 'a']);
  });

  it('stops services before it is told to stop, dependents first', async () => {
    const order: string[] = ((globalThis as { stopOrder?: string[] }).stopOrder = []);
    const stops = (id: string) => toolClass('return 1;', `stop() { globalThis.stopOrder.push('${id}'); }`);
    await sandbox.extension('base', 'tool', stops('base'));
    await sandbox.extension('middle', 'tool', stops('middle'), 'depends_on: [base]');
    await sandbox.extension('top', 'tool', stops('top'), 'depends_on: [middle]');
    const host = await sandbox.host();
    await host.extensions.activateAll();
    await host.stop();
    expect(order).toEqual(['top', 'middle', 'base']);
    expect(await callTool(host, 'top')).toMatchObject({
      ok: false,
      error: { code: 'tool_gone' },
    });
  });
});
