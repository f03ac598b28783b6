/** What can go wrong in code, by name: statements of a function that the phase awaits, or calls where it cannot wait. */
export const FAULTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  throw: { throw: `throw new Error('boom')` },
  reject: { reject: `return Promise.reject(new Error('boom'))` },
  hang: { hang: `if (PHASE === 'construct') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0); return new Promise(() => {})` },
  'while(true)': { 'while(true)': `for (;;);` },
  'process.exit': { 'process.exit': `process.exit(3)` },
  'throw in a timer': { 'throw in a timer': `setTimeout(() => { throw new Error('boom'); }, 5); return SHORTLY` },
  'unhandled rejection': { 'unhandled rejection': `void Promise.reject(new Error('boom')); return SHORTLY` },
  "emitter 'error'": { "emitter 'error'": `setImmediate(() => new EventEmitter().emit('error', new Error('boom'))); return SHORTLY` },
  heap: {
    'heap: objects': `for (;;) kept.push({ at: kept.length })`,
    'heap: strings': `for (;;) kept.push(('x' + kept.length).repeat(100).toUpperCase())`,
    'heap: a growing Map': `const map = new Map(); for (;;) map.set(map.size, { at: map.size })`,
    'heap: one huge array': `for (let size = 1024; ; size *= 2) kept.push(new Array(size).fill({}))`,
    'heap: a regex result': `for (;;) kept.push('some words and more '.repeat(50_000).match(/\\w/g))`,
  },
  'off-heap growth': { 'off-heap growth': `for (;;) kept.push(Buffer.alloc(1e6, 1))` },
  'a flood': {
    'a flood: stdout': `for (let n = 0; n < 100; n += 1) process.stdout.write(('x'.repeat(99) + '\\n').repeat(10_000))`,
    'a flood: fs.writeSync(1)': `flood(1, Buffer.alloc(1e6, 'x'))`,
    'a flood: garbage on descriptor 3': `flood(3, Buffer.alloc(1e6, 7))`,
    'a flood: messages': `flood(3, Buffer.concat(Array.from({ length: 20_000 }, () => frame([7, 0, 'log', []]))))`,
    'a flood: answers to nothing': `flood(3, Buffer.concat(Array.from({ length: 20_000 }, () => frame([9]))))`,
  },
  'killed or blocked': {
    'process.kill': `process.kill(process.pid, 'SIGKILL')`,
    'process.abort': `process.abort()`,
    'a blocking execFileSync': `execFileSync('sleep', ['MARK'])`,
  },
};

export const PHASES = ['import', 'construct', 'initialize', 'start', 'getContext', 'tool call', 'background', 'stop', 'reload'] as const;
export type FaultPhase = (typeof PHASES)[number];

export interface FaultyExtension {
  readonly phase: FaultPhase | 'none';
  /** Of `FAULTS`: its inner name. */
  readonly code: string;
  /** An argument by which its child is found. */
  readonly mark: string;
}

/** An extension whose code has the fault in that phase, and in no other. */
export function faultyExtension({ phase, code, mark }: FaultyExtension): { readonly 'manifest.yaml': string; readonly 'main.ts': string } {
  const provides = [
    'tool',
    ...(phase === 'getContext' ? ['context'] : []),
    ...(phase === 'background' || phase === 'start' ? ['service'] : []),
  ];
  return {
    'manifest.yaml': `id: faulty\nversion: 1.0.0\nentrypoint: main.ts\nprovides: [${provides.join(', ')}]\n`,
    'main.ts': SOURCE.replace('FAULT', () => code.replace('MARK', mark).replace('SHORTLY', SHORTLY)).replace('WHERE', phase),
  };
}

/** A phase that lasts until what it began has gone wrong. */
const SHORTLY = 'new Promise((resolve) => setTimeout(resolve, 50))';

const SOURCE = `
import { execFileSync } from 'node:child_process';
import { EventEmitter } from 'node:events';
import fs from 'node:fs';
import { defineTool, z } from 'pith';

const PHASE: string = 'WHERE';
const kept: unknown[] = [];
const frame = (value: unknown) => {
  const body = Buffer.from(JSON.stringify(value));
  const head = Buffer.alloc(4);
  head.writeUInt32LE(body.length);
  return Buffer.concat([head, body]);
};
function flood(descriptor: number, bytes: Buffer) {
  for (let sent = 0; sent < 1e8; ) {
    try { sent += fs.writeSync(descriptor, bytes); } catch (error) { if (error.code !== 'EAGAIN') throw error; }
  }
}
function fault(): unknown { FAULT; }
const at = (phase: string): unknown => (phase === PHASE ? fault() : undefined);

await at('import');
export default class Faulty {
  contextPriority = 50;
  constructor() { at('construct'); }
  async initialize() { await at('initialize'); }
  async start() { await at('start'); }
  async stop() { await at('stop'); }
  async getContext() { await at('getContext'); return 'a part of the context'; }
  async runBackground(signal: AbortSignal) {
    await at('background');
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
  }
  getTools() {
    return [defineTool({
      name: 'faulty_tool', description: 'Fails.', input: z.object({}), effect: 'read', timeoutMs: 1500,
      execute: async () => { await at('tool call'); return 'fine'; },
    })];
  }
}
`;
