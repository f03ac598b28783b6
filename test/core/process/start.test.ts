import * as heldProcess from '@pith/supervised-process';
import { chmodSync, rmSync } from 'node:fs';
import { spawn } from 'node:child_process';
import path from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { fakeClock } from 'pith/testing';
import { callTool, testSandbox, type TestSandbox } from '../kernel/extensions.ts';
import { writeFiles } from '../../places.ts';
import { until } from '../../waiting.ts';

/** A stand-in for bubblewrap that holds nothing: there, or not. */
const holder = vi.hoisted(() => ({ program: '' }));
vi.mock('@pith/supervised-process', async (original) => ({
  ...(await original<typeof heldProcess>()),
  probeSandboxing: async () => ({ available: true, program: holder.program }),
}));
const appear = () => {
  writeFiles(path.dirname(holder.program), { holder: '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done; shift; exec "$@"\n' });
  chmodSync(holder.program, 0o755);
};
const vanish = () => rmSync(holder.program);

let sandbox: TestSandbox;
beforeEach(() => {
  sandbox = testSandbox();
  holder.program = path.join(sandbox.directory, '..', 'holder');
});

const TOOL = (name: string): string =>
  `export default class { getTools() { return [defineTool({ name: '${name}', description: 'd', input: z.object({}), execute: () => 'well' })]; } }`;

describe('a process that cannot be started', () => {
  it('T12 F16: is a failed start, refused at once until its time has come, and comes back without a restart', async () => {
    const clock = fakeClock();
    await sandbox.extension('mine', 'tool', TOOL('calm'));
    const host = await sandbox.host({ isolation: 'process', clock, flags: {} });
    const failed = () => expect(callTool(host, 'mine', 'calm')).resolves.toMatchObject({ ok: false });
    await failed();
    expect(host.extensions.show('mine')).toMatchObject({
      state: 'failed',
      code: 'process_not_started',
      phase: 'import',
      message: expect.stringContaining('could not be started'),
    });
    await clock.advance(1000);
    expect(host.extensions.show('mine')).toMatchObject({ state: 'idle' });
    await failed();
    await clock.advance(1000);
    expect(host.extensions.show('mine')).toMatchObject({ state: 'failed' }); // the second time it waits two seconds
    appear();
    await clock.advance(1000);
    expect(await callTool(host, 'mine', 'calm')).toMatchObject({ ok: true, output: 'well' });
    expect(host.extensions.show('mine')).toMatchObject({ state: 'active' });
  });

  it('T12 F16: a service is started by itself when there is room again', async () => {
    const clock = fakeClock();
    await sandbox.extension(
      'works',
      'service',
      `export default class { async runBackground(signal) { await new Promise((done) => signal.addEventListener('abort', done)); } }`,
    );
    const host = await sandbox.host({ isolation: 'process', clock, flags: {} });
    await host.startServices('all');
    expect(host.extensions.show('works')).toMatchObject({ state: 'failed', code: 'process_not_started' });
    appear();
    await clock.advance(1000);
    await expect.poll(() => host.extensions.show('works')?.state).toBe('active');
  });

  it('T12 F16 K21 what was loaded before goes on where an edit finds no room; the edit is loaded when there is room', async () => {
    const clock = fakeClock();
    appear();
    await sandbox.extension('mine', 'tool', TOOL('calm'));
    const host = await sandbox.host({ isolation: 'process', flags: {}, clock });
    const call = (tool: string) => callTool(host, 'mine', tool);
    expect(await call('calm')).toMatchObject({ ok: true });
    vanish();
    await sandbox.edit(host, 'mine', 'tool', TOOL('newer'));
    expect(await call('calm')).toMatchObject({ ok: true });
    expect(host.extensions.show('mine')).toMatchObject({
      phase: 'reload',
      message: expect.stringContaining('still running the previous one'),
    });
    appear();
    await clock.advance(1000);
    await until(() => host.extensions.show('mine')?.generation !== 1);
    expect(await call('newer')).toMatchObject({ ok: true, output: 'well' });
  });

  it('T12 F16: says which program, and ends nothing where nobody listens', async () => {
    const other = () => heldProcess.startedByOther(async () => (spawn('/no/such/program'), Promise.reject(new TypeError('it has no pid'))));
    await expect(other()).rejects.toMatchObject({
      code: 'process_not_started',
      message: expect.stringContaining("no program '/no/such/program'"),
    });
    expect(await heldProcess.startedByOther(async () => spawn(process.execPath, ['--version']).pid)).toBeTypeOf('number');
    await expect(heldProcess.startProcess(['/no/such/program'], { stdio: ['ignore', 'pipe', 'pipe', 'pipe'] })).rejects.toMatchObject({
      code: 'process_not_started',
      message: expect.stringContaining('/no/such/program'),
    });
  });
});
