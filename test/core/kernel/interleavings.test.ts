import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Host } from '../../../core/kernel/index.ts';
import { callTool, testSandbox, type TestSandbox, toolClass } from './extensions.ts';

const STEPS = [
  'sound 1',
  'sound 2',
  'broken',
  'failing',
  'misspelt',
  'removed',
  'checked out',
  'look',
  'look',
  'call',
  'call',
  'reload',
  'crash',
  'tick',
] as const;
type Step = (typeof STEPS)[number];

const world = globalThis as { begunAndEnded?: string[] };

const source = (name: string): string =>
  toolClass(
    `if (input.n) void Promise.reject(new Error('astray')); return '${name}';`,
    `async initialize() { await null; ${name === 'failing' ? 'throw new Error("no");' : ''} globalThis.begunAndEnded.push('begun'); this.begun = true; }
     async stop() { await new Promise((resolve) => setTimeout(resolve, 15)); if (this.begun) globalThis.begunAndEnded.push('ended'); }`,
  );

const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function take(sandbox: TestSandbox, host: Host, step: Step): Promise<{ readonly work?: Promise<unknown> }> {
  switch (step) {
    case 'removed': {
      await sandbox.remove('extensions/it');
      const work = host.extensions.refresh();
      while (host.extensions.state('it') !== undefined) await tick();
      return { work };
    }
    case 'checked out': {
      const { work: removed } = await take(sandbox, host, 'removed');
      await sandbox.extension('it', 'tool', source('sound 1'));
      const found = host.extensions.refresh();
      while (host.extensions.state('it') === undefined) await tick();
      return { work: Promise.all([removed, found, callTool(host, 'it')]) };
    }
    case 'look':
      return { work: host.extensions.refresh() };
    case 'call':
      return { work: callTool(host, 'it') };
    case 'crash':
      return { work: callTool(host, 'it', 'work', { n: 1 }) };
    case 'reload':
      return { work: host.extensions.reload('it').catch(() => undefined) }; // nothing may declare it then
    case 'tick':
      await tick();
      return {};
    case 'misspelt':
      await sandbox.write('extensions/it/manifest.yaml', 'id: it\nentrypoint: main.ts\nprovids: [tool]\n');
      return {};
    default:
      await sandbox.extension('it', 'tool', step === 'broken' ? 'export default class {{' : source(step));
      return {};
  }
}

it('B1 B11: whatever is written, called and reloaded in any order, one version of a real extension begins only after the one before has ended', async () => {
  const listeners = process.listeners('unhandledRejection');
  process.removeAllListeners('unhandledRejection'); // the runner takes stray errors for failed tests
  try {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...STEPS), { minLength: 4, maxLength: 14, size: 'max' }), async (steps) => {
        const log: string[] = (world.begunAndEnded = []);
        const sandbox = testSandbox();
        await sandbox.extension('it', 'tool', source('sound 1'));
        const host = await sandbox.host();
        const open: (Promise<unknown> | undefined)[] = [];
        for (const step of steps) open.push((await take(sandbox, host, step)).work);
        await Promise.all(open);
        await sandbox.edit(host, 'it', 'tool', source('sound 2'));
        await host.extensions.reload('it'); // also after three crashes
        expect(await callTool(host, 'it')).toEqual({ ok: true, output: 'sound 2' });
        await sandbox.close();
        expect(log).toEqual(log.map((_, index) => (index % 2 === 0 ? 'begun' : 'ended')));
        expect(log.at(-1)).toBe('ended');
      }),
      { numRuns: 40 },
    );
  } finally {
    for (const listener of listeners) process.on('unhandledRejection', listener);
  }
});
