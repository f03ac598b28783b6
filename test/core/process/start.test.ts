import { needDescriptors, startProcess } from '@pith/held-process';
import { chmod, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fakeClock } from 'pith/testing';
import { CALL, NEVER, testSandbox, type TestSandbox } from '../kernel/sandbox.ts';

let sandbox: TestSandbox;
beforeEach(async () => {
  sandbox = await testSandbox();
});
afterEach(() => sandbox.close());

const TOOL = (name: string): string =>
  `export default class { getTools() { return [defineTool({ name: '${name}', description: 'd', input: z.object({}), execute: () => 'well' })]; } }`;

/** A stand-in for bubblewrap that holds nothing: there, or not. */
function standIn() {
  const program = path.join(sandbox.directory, '..', 'holder');
  return {
    sandboxing: async () => ({ available: true as const, program }),
    async appear() {
      await writeFile(program, '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done; shift; exec "$@"\n');
      await chmod(program, 0o755);
    },
    vanish: () => rm(program),
  };
}

describe('a process that cannot be started', () => {
  it('T12 F16: is a failed start, refused at once until its time has come, and comes back without a restart', async () => {
    const clock = fakeClock();
    const holder = standIn();
    await sandbox.extension('mine', 'tool', TOOL('calm'));
    const host = await sandbox.host({ isolation: 'process', clock, sandboxing: holder.sandboxing });
    const failed = () => expect(host.callTool('mine', 'calm', {}, CALL, NEVER)).resolves.toMatchObject({ ok: false });
    await failed();
    expect(host.show('mine')).toMatchObject({
      state: 'failed',
      code: 'process_not_started',
      phase: 'import',
      message: expect.stringContaining('could not be started'),
    });
    await clock.advance(1000);
    expect(host.show('mine')).toMatchObject({ state: 'idle' });
    await failed();
    await clock.advance(1000);
    expect(host.show('mine')).toMatchObject({ state: 'failed' }); // the second time it waits two seconds
    await holder.appear();
    await clock.advance(1000);
    expect(await host.callTool('mine', 'calm', {}, CALL, NEVER)).toMatchObject({ ok: true, output: 'well' });
    expect(host.show('mine')).toMatchObject({ state: 'active' });
  });

  it('T12 F16: a service is started by itself when there is room again', async () => {
    const clock = fakeClock();
    const holder = standIn();
    await sandbox.extension(
      'works',
      'service',
      `export default class { async runBackground(signal) { await new Promise((done) => signal.addEventListener('abort', done)); } }`,
    );
    const host = await sandbox.host({ isolation: 'process', clock, sandboxing: holder.sandboxing });
    await host.startServices('all');
    expect(host.show('works')).toMatchObject({ state: 'failed', code: 'process_not_started' });
    await holder.appear();
    await clock.advance(1000);
    await expect.poll(() => host.show('works')?.state).toBe('active');
  });

  it('T12 F16: what was loaded before goes on where the new version finds no room', async () => {
    const holder = standIn();
    await holder.appear();
    await sandbox.extension('mine', 'tool', TOOL('calm'));
    const host = await sandbox.host({ isolation: 'process', sandboxing: holder.sandboxing });
    expect(await host.callTool('mine', 'calm', {}, CALL, NEVER)).toMatchObject({ ok: true });
    await holder.vanish();
    await host.reload('mine');
    expect(await host.callTool('mine', 'calm', {}, CALL, NEVER)).toMatchObject({ ok: true, output: 'well' });
  });

  it('T12 F16: says which program, and ends nothing where nobody listens', async () => {
    await expect(startProcess(['/no/such/program'], { stdio: ['ignore', 'pipe', 'pipe', 'pipe'] })).rejects.toMatchObject({
      code: 'process_not_started',
      message: expect.stringContaining('/no/such/program'),
    });
    expect(() => needDescriptors(4)).not.toThrow();
  });
});
