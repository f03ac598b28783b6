import { contextSources } from '../../../core/agent/index.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fakeClock } from 'pith/testing';
import type { Host } from '../../../core/kernel/index.ts';
import { callTool, NEVER, testSandbox, type TestSandbox, toolClass } from './extensions.ts';
import { TURN } from '../../fixtures/agent-spec.ts';
import { passed, until } from '../../waiting.ts';

let sandbox: TestSandbox;
let clock = fakeClock();
/** Time passes only while something hangs: on a busy machine honest work would be cut as well. */
const hanging = globalThis as { hangs?: boolean };
let listeners: Map<string, ((...args: never[]) => void)[]>;

/** The runner takes stray errors for failed tests; here they are the subject. */
beforeEach(async () => {
  listeners = new Map(
    ['uncaughtException', 'unhandledRejection'].map((event) => [event, process.listeners(event as 'uncaughtException') as never]),
  );
  for (const event of listeners.keys()) process.removeAllListeners(event);
  clock = fakeClock();
  hanging.hangs = false;
  sandbox = testSandbox();
  await sandbox.extension('other', 'tool', toolClass('return "fine";'));
});

afterEach(async () => {
  const closed = sandbox.close();
  await (hanging.hangs ? passed(clock, closed) : closed); // what is cut goes on, and may end this process once nobody guards it
  const left = ['uncaughtException', 'unhandledRejection'].map((event) => process.listenerCount(event));
  for (const [event, list] of listeners) for (const listener of list) process.on(event as 'uncaughtException', listener as never);
  if (left.some((count) => count > 0)) throw new Error(`the guard left ${left.join(' and ')} listeners behind`);
});

const FAULTS = {
  throw: 'throw new Error("FAULT");',
  reject: 'return Promise.reject(new Error("FAULT"));',
  hang: 'globalThis.hangs = true; return new Promise(() => {});',
  'throw in a timer': 'setTimeout(() => { throw new Error("FAULT"); }, 1); return later();',
  'unhandled rejection': 'void Promise.reject(new Error("FAULT")); return later();',
  "emitter 'error'": 'setTimeout(() => new EventEmitter().emit("error", new Error("FAULT")), 1); return later();',
  'process.exit': 'process.exit(7);',
  'process.kill': 'process.kill(process.pid, "SIGKILL");',
  'process.abort': 'process.abort();',
} as const;

const PHASES = ['import', 'construct', 'initialize', 'start', 'getContext', 'tool call', 'background', 'stop', 'reload'] as const;

function faulty(phase: (typeof PHASES)[number], fault: keyof typeof FAULTS, generation = 1): string {
  const at = (place: string, sound = '') => (place === phase ? FAULTS[fault] : sound);
  const top = phase === 'import' ? `const top = () => { ${FAULTS[fault]} };\nawait top();` : '';
  const construct = phase === 'construct' || (phase === 'reload' && generation === 2) ? `(() => { ${FAULTS[fault]} })();` : '';
  return `import { EventEmitter } from 'node:events';
    const later = () => new Promise((resolve) => setTimeout(resolve, 5));
    ${top}
    export default class Faulty {
      contextPriority = 1;
      constructor() { ${construct} }
      async initialize(): Promise<unknown> { ${at('initialize')} }
      async start(): Promise<unknown> { ${at('start')} }
      async stop(): Promise<unknown> { ${at('stop')} }
      async getContext(): Promise<string | null> { ${at('getContext', 'return null;')} }
      async runBackground(signal: AbortSignal): Promise<unknown> { ${at('background', 'await new Promise((resolve) => signal.addEventListener("abort", resolve));')} }
      getTools() {
        return [defineTool({ name: 'work', description: '', input: z.object({}), execute: async () => { ${at('tool call', 'return 1;')} } })];
      }
    }
    // ${generation}`;
}

async function drive(host: Host, phase: (typeof PHASES)[number], fault: keyof typeof FAULTS): Promise<void> {
  await host.extensions.activate('faulty');
  await host.startServices();
  const sources = await contextSources(host);
  await Promise.allSettled(sources.map((source) => source.getContext('p', TURN, NEVER)));
  await callTool(host, 'faulty');
  if (phase === 'reload') await sandbox.extension('faulty', 'tool, context, service', faulty(phase, fault, 2));
  if (phase === 'stop') await sandbox.write('extensions/faulty/note.txt', 'changed');
  await host.extensions.refresh();
}

describe.each(PHASES)('in %s', (phase) => {
  it.each(Object.keys(FAULTS) as (keyof typeof FAULTS)[])(
    'K10 survives %s, names extension, phase and reason, and other tools answer',
    async (fault) => {
      await sandbox.extension('faulty', 'tool, context, service', faulty(phase, fault));
      const host = await sandbox.host({ clock });
      const driven = drive(host, phase, fault);
      await (fault === 'hang' ? until(() => hanging.hangs === true).then(() => passed(clock, driven)) : driven);
      expect(await callTool(host, 'other')).toEqual({ ok: true, output: 'fine' });
      const harmless = (phase === 'construct' || phase === 'reload') && (fault === 'reject' || fault === 'hang');
      const waiting = phase === 'background' && fault === 'hang';
      if (harmless && fault === 'hang') return; // a promise that a constructor forgets is nobody's fault
      if (waiting && host.extensions.state('faulty') === 'active') return; // work that never ends is what a service is
      const told = await until(() => {
        const failures = host.extensions.failures().filter(({ extensionId }) => extensionId === 'faulty');
        return failures.length > 0 && failures;
      });
      const named = harmless
        ? phase === 'reload'
          ? ['construct', 'reload']
          : [phase]
        : phase === 'reload'
          ? ['reload', 'construct']
          : [phase];
      expect(told.map((failure) => failure.phase).filter((each) => named.includes(each))).not.toEqual([]);
      const reason = fault === 'hang' ? /did not finish|longer than/ : fault.startsWith('process.') ? /refused/ : /FAULT/;
      expect(told.map(({ message }) => message).join('\n')).toMatch(reason);
      expect(host.extensions.show('faulty')).toMatchObject({ phase: expect.any(String), message: expect.any(String) });
    },
  );
});

it('leaves errors that belong to no extension to the others who listen', async () => {
  const host = await sandbox.host();
  await host.extensions.activate('other');
  const seen: unknown[] = [];
  const listener = (error: unknown): void => void seen.push(error);
  process.on('unhandledRejection', listener);
  void Promise.reject(new Error('of the test'));
  await until(() => seen.length > 0);
  process.off('unhandledRejection', listener);
  expect(seen).toMatchObject([{ message: 'of the test' }]);
  expect(host.extensions.failures()).toEqual([]);
});

it('guards once for several kernels in a process and gives process.exit back after the last', async () => {
  const exit = process.exit;
  const one = await sandbox.host();
  const two = await sandbox.host();
  expect(process.exit).not.toBe(exit);
  await one.stop();
  expect(process.exit).not.toBe(exit);
  await two.stop();
  expect(process.exit).toBe(exit);
});
