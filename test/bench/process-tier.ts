import { spawn } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Duplex } from 'node:stream';
import { createKernel, type Kernel } from '../../core/compose/index.ts';
import { interleaved, timed, type Bench, type Spread } from './measure.ts';
import { inFolder, put } from './places.ts';

const CALLS = 2000;
const KB_A_MB = 1024;

/** What it costs that an extension runs in a separate process. */
export const processTier: Bench = async ({ runs }) =>
  inFolder(async (folder) => {
    const sandbox = path.join(folder, 'sandbox');
    await put(path.join(sandbox, 'extensions/mine/manifest.yaml'), 'id: mine\nentrypoint: main.ts\nprovides: [tool]\n');
    await put(path.join(sandbox, 'extensions/mine/main.ts'), EXTENSION);
    await put(path.join(sandbox, 'agents/asker/manifest.yaml'), 'id: asker\nagent: { uses_tools: [mine] }\n');
    const echo = path.join(folder, 'echo.mjs');
    await writeFile(echo, ECHO);
    const open = () => createKernel({ accepts: true, sandbox, env: {}, home: null, only: [], flags: { extensions_sandbox: 'off' } });
    const first = await open(); // makes the bundle and the index
    await callOf(first)();
    const pid = (await callOf(first)()) as number;
    const memory = await residentMb(pid);
    const bare = echoProcess(echo);
    await bare.ask();
    const bareMemory = await residentMb(bare.pid);

    const calls = await interleaved(runs, { floor: () => each(bare.ask), measured: () => each(directOf(first)) });
    const cold = await interleaved(runs, {
      floor: async () => {
        const begun = performance.now();
        const process = echoProcess(echo);
        await process.ask();
        const taken = performance.now() - begun;
        process.end();
        return taken;
      },
      measured: async () => {
        const kernel = await open();
        await kernel.agents.toolsOf('asker');
        const taken = await timed(callOf(kernel));
        await kernel.stop();
        return taken;
      },
    });
    bare.end();
    await first.stop();
    return [
      {
        figure: 'process-tier call',
        unit: 'µs',
        ...calls,
        boundsAt: 35,
        must: 120,
        note: 'a tool through the host; floor: two bytes to and fro over a socket',
      },
      {
        figure: 'process tier, cold host to first answer',
        unit: 'ms',
        ...cold,
        boundsAt: 29,
        must: 150,
        note: 'the extension uses zod; floor: a bare Node that answers',
      },
      {
        figure: 'process tier, memory of a host',
        unit: 'MB',
        measured: memory,
        floor: bareMemory,
        must: 30,
        note: 'not shared with others; floor: a bare Node that answers',
      },
    ];
  });

const EXTENSION = `import { defineTool, z } from 'pith';
export default class {
  getTools() { return [defineTool({ name: 'pid', description: 'd', input: z.object({}), execute: () => process.pid })]; }
}
`;

const ECHO = `import { Socket } from 'node:net';
const socket = new Socket({ fd: 3, readable: true, writable: true });
socket.on('data', (data) => socket.write(data));
socket.on('end', () => process.exit(0));
`;

function callOf(kernel: Kernel): () => Promise<unknown> {
  return async () => {
    const result = await kernel.agents.callTool('asker', 'pid', {});
    if (!result.ok) throw new Error(result.error.message);
    return result.output;
  };
}

/** As a turn calls it, once the agent's tools are known. */
function directOf({
  host: {
    providers: { tools },
  },
}: Kernel): () => Promise<unknown> {
  const signal = new AbortController().signal;
  return async () => tools.call('mine', 'pid', {}, { turn: {} as never, idempotencyKey: 'bench', signal });
}

async function each(call: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  for (let n = 0; n < CALLS; n++) await call();
  return ((performance.now() - begun) * 1000) / CALLS;
}

function echoProcess(file: string): { readonly pid: number; ask(): Promise<unknown>; end(): void } {
  const child = spawn(process.execPath, [file], { stdio: ['ignore', 'ignore', 'inherit', 'pipe'] });
  const socket = child.stdio[3] as Duplex;
  return {
    pid: child.pid ?? 0,
    ask: () =>
      new Promise((resolve) => {
        socket.once('data', resolve);
        socket.write('ab');
      }),
    end: () => void socket.end(),
  };
}

/** What the process has for itself alone. */
async function residentMb(pid: number): Promise<Spread> {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8');
  const kb = [...text.matchAll(/^Private_\w+:\s+(\d+) kB$/gm)].reduce((sum, [, found]) => sum + Number(found), 0);
  const value = kb / KB_A_MB;
  return { median: value, min: value, max: value };
}
