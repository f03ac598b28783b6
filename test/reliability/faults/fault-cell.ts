import { familyOf, processEntry } from '@pith/supervised-process';
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { expect } from 'vitest';
import { runs } from '../../core/process/hosts.ts';
import { until, within } from '../../waiting.ts';
import { FAULTS, faultyExtension, type FaultPhase } from './faulty-extension.ts';

/** One place of the matrix: what fails, and when. */
export interface Cell {
  readonly phase: FaultPhase;
  readonly fault: string;
  readonly code: string;
}

/** What the phase may be called by `doctor`: a call is named for what it is of, where the process can tell. */
const CALLED: Readonly<Record<FaultPhase, readonly string[]>> = {
  import: ['import'],
  construct: ['construct'],
  initialize: ['initialize'],
  start: ['start'],
  getContext: ['getContext', 'call'],
  'tool call': ['tool call', 'call'],
  background: ['background', 'stop'],
  stop: ['stop'],
  reload: ['reload', 'import'],
};

let cells = 0;

/** Boots a kernel, lets the fault happen, and expects that nothing but the faulty extension suffered. */
export async function runCell({ phase, code }: Cell): Promise<void> {
  const mark = `${1000 + ++cells}.${process.pid}`;
  const kernel = await startKernel(phase === 'reload' ? { phase: 'none', code, mark } : { phase, code, mark });
  try {
    expect(await kernel.ask('call', { extension: 'steady', tool: 'steady_tool' })).toMatchObject({ ok: true });
    await happen(kernel, { phase, code, mark });
    const named = await failureOf(kernel);
    // What is printed is only queued: the process may be in a later phase when it is too much.
    if (code !== FAULTS['a flood']?.['a flood: stdout']) expect(CALLED[phase]).toContain(named.phase);
    expect(named.message).toMatch(/\w/u);

    expect(await within(5000, kernel.ask('call', { extension: 'steady', tool: 'steady_tool' }))).toMatchObject({ ok: true });
    expect(await kernel.ask('turn')).toEqual({ reason: 'done', text: 'an answer' });
    const report = (await kernel.ask('doctor')) as { readonly extensions: readonly { readonly id: string; readonly state: string }[] };
    expect(report.extensions.find(({ id }) => id === 'faulty')).toMatchObject({ message: expect.stringMatching(/\w/u) });
    expect(report.extensions.find(({ id }) => id === 'steady')).toMatchObject({ state: 'active' });
    expect(await kernel.ask('memory')).toBeLessThan(400 * 1024 * 1024);
    expect(kernel.process.exitCode).toBeNull();
  } finally {
    await kernel.kill();
    await until(() => !runs(mark), 2000);
  }
}

async function happen(
  kernel: Kernel,
  { phase, code, mark }: { readonly phase: FaultPhase; readonly code: string; readonly mark: string },
): Promise<void> {
  const call = (): Promise<unknown> => kernel.ask('call', { extension: 'faulty', tool: 'faulty_tool' });
  switch (phase) {
    case 'start':
      return void (await kernel.ask('services'));
    case 'background':
      await kernel.ask('services');
      // A service may take for ever; that it does not heed its signal shows when it is stopped.
      if (code === FAULTS['hang']?.['hang']) await kernel.ask('reload', { extension: 'faulty' });
      return;
    case 'getContext':
      return void expect(await kernel.ask('turn')).toEqual({ reason: 'done', text: 'an answer' });
    case 'stop':
      expect(await call()).toMatchObject({ ok: true });
      return void (await kernel.ask('reload', { extension: 'faulty' }).catch(String));
    case 'reload':
      expect(await call()).toMatchObject({ ok: true });
      await kernel.write(faultyExtension({ phase: 'import', code, mark }));
      await kernel.ask('reload', { extension: 'faulty' }).catch(String);
      return void expect(await call()).toMatchObject({ ok: true });
    default:
      await call().catch(String);
  }
}

/** What is known of the fault, as soon as it is. */
async function failureOf(kernel: Kernel): Promise<{ readonly phase: string; readonly message: string }> {
  const ask = async () => {
    const { phase, message } = (await kernel.ask('status', { extension: 'faulty' })) as {
      readonly phase?: string;
      readonly message?: string;
    };
    return phase !== undefined && message !== undefined && { phase, message };
  };
  return (await until(ask, 15_000, 100)) as { readonly phase: string; readonly message: string };
}

interface Kernel {
  readonly process: ChildProcess;
  ask(command: string, rest?: Readonly<Record<string, unknown>>): Promise<unknown>;
  write(files: Readonly<Record<string, string>>): Promise<void>;
  /** As `kill -9`; no process that it had is left 2 s later. */
  kill(): Promise<void>;
}

const STEADY = `
import { defineTool, z } from 'pith';
export default class Steady {
  getTools() { return [defineTool({ name: 'steady_tool', description: 'Works.', input: z.object({}), effect: 'read', execute: async () => 'here' })]; }
}
`;

async function startKernel(faulty: Parameters<typeof faultyExtension>[0]): Promise<Kernel> {
  const project = await realpath(await mkdtemp(path.join(os.tmpdir(), 'pith-fault-')));
  const sandbox = path.join(project, 'sandbox');
  const write = async (folder: string, files: Readonly<Record<string, string>>): Promise<void> => {
    await mkdir(path.join(sandbox, folder), { recursive: true });
    for (const [name, text] of Object.entries(files)) await writeFile(path.join(sandbox, folder, name), text);
  };
  await write('.', { 'pith.yaml': 'default_agent: main\nextensions:\n  faulty: { memory_mb: 256 }\n' });
  await write('agents/main', { 'manifest.yaml': 'id: main\nagent:\n  uses_tools: [steady]\n' });
  await write('extensions/steady', {
    'manifest.yaml': 'id: steady\nversion: 1.0.0\nentrypoint: main.ts\nprovides: [tool]\n',
    'main.ts': STEADY,
  });
  await write('extensions/faulty', faultyExtension(faulty));

  const args = [path.resolve('test/reliability/faults/kernel.mjs'), path.resolve('dist/testing.js'), sandbox];
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const waiting = new Map<number, (answer: { readonly value?: unknown; readonly error?: string }) => void>();
  const ready = new Promise<unknown>((resolve) => waiting.set(0, resolve));
  createInterface({ input: child.stdout }).on('line', (line) => {
    const answer = JSON.parse(line) as { readonly id: number; readonly value?: unknown; readonly error?: string };
    waiting.get(answer.id)?.(answer);
    waiting.delete(answer.id);
  });
  child.on('exit', (code, signal) => {
    for (const answer of waiting.values()) answer({ error: `the kernel ended: ${code ?? signal}` });
  });
  await ready;
  let asked = 0;
  return {
    process: child,
    ask: (command, rest = {}) =>
      new Promise((resolve, reject) => {
        const id = ++asked;
        waiting.set(id, ({ value, error }) => (error === undefined ? resolve(value) : reject(new Error(error))));
        child.stdin.write(`${JSON.stringify({ id, command, ...rest })}\n`);
      }),
    write: (files) => write('extensions/faulty', files),
    async kill() {
      const family = familyOf(child.pid ?? 0)
        .slice(1)
        .flatMap((pid) => processEntry(pid) ?? []);
      child.kill('SIGKILL');
      await until(() => family.every(({ pid, startTime }) => processEntry(pid)?.startTime !== startTime), 2000);
      await rm(project, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}
