import { PassThrough, Writable } from 'node:stream';
import type { Command } from '../../../core/contract/index.ts';
import type { OpenKernel, Target } from '../../../core/cli/open-kernel.ts';
import { createRestarts, type Kernel } from '../../../core/kernel-surface.ts';
import { runCli } from '../../../core/cli/run.ts';
import type { DeclaredCommand } from '../../../core/host/host-options.ts';

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface RunOptions {
  readonly openKernel?: OpenKernel;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
  readonly terminal?: boolean;
  readonly signal?: AbortSignal;
}

/** Runs one command line with streams that remember. */
export async function cli(argv: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const { terminal = false } = options;
  const input = Object.assign(new PassThrough(), { isTTY: terminal });
  input.end(options.input ?? '');
  const out = sink(terminal);
  const err = sink(terminal);
  const code = await runCli(
    {
      argv,
      cwd: options.cwd ?? '/',
      env: { PITH_TRUST: '1', ...options.env },
      stdio: { input, output: out.stream, error: err.stream },
      openKernel: options.openKernel ?? fakeOpen(),
    },
    options.signal ?? new AbortController().signal,
  );
  return { code, out: out.text(), err: err.text() };
}

export function sink(isTTY = false): { readonly stream: Writable; text(): string } {
  let text = '';
  const stream = Object.assign(new Writable({ write: (chunk, _encoding, done) => ((text += String(chunk)), done()) }), {
    isTTY,
    columns: 80,
  });
  return { stream, text: () => text };
}

export interface FakeKernel {
  readonly declared?: readonly DeclaredCommand[];
  readonly commands?: readonly Command[];
  readonly kernel?: { readonly [Member in keyof Kernel]?: unknown };
  /** What was done, in order. */
  readonly log?: string[];
  readonly targets?: Target[];
}

export function fakeOpen({ declared = [], commands = [], kernel = {}, log = [], targets = [] }: FakeKernel = {}): OpenKernel {
  const made = { ...fakeKernel(), ...kernel } as Kernel;
  const extensions = {
    ...made.extensions,
    list: () => made.extensions.list(),
    show: (id: string) => made.extensions.show(id),
    reload: (id: string) => made.extensions.reload(id),
    commands: () => (log.push('declared'), declared),
    commandContext: () => ({}),
    importCommandEntry: async () => (log.push('entry'), async () => commands),
    commandsOf: async (id: string) => (log.push(`activate ${id}`), commands),
  };
  return async (target) => {
    targets.push(target);
    log.push('kernel');
    return {
      ...made,
      extensions: extensions as unknown as Kernel['extensions'],
      start: async () => void log.push('start'),
      startUsed: async () => void log.push('start used'),
      stop: async () => void log.push('stop'),
    };
  };
}

export function declare(path: string, needs: DeclaredCommand['needs'], extensionId = 'sample'): DeclaredCommand {
  return { extensionId, path, declared: path, needs, entry: needs === 'index' ? 'commands.ts' : undefined, description: `Does ${path}` };
}

export function fakeKernel(): Kernel {
  const fake = {
    sandbox: '/s',
    trust: { level: 'trusted', opened: '/s', why: null, allow: () => undefined, agree: () => undefined },
    settings: { default_agent: 'main', data_dir: '/s/data', extensions: {}, origins: {} },
    restarts: createRestarts(),
    findings: () => [],
    problems: async () => [],
    unconfined: async () => null,
    probe: async () => ({ id: 'mine', ok: true, findings: [], tools: [], tried: [] }),
    events: { handle: () => () => undefined },
    approvals: {
      list: () => [],
      get: () => null,
      answer: async () => Promise.reject(new Error('no question')),
      answered: async (approval: unknown) => approval,
      isAttended: () => false,
      goesOn: async () => false,
    },
    threads: {
      unfinished: () => null,
      list: () => [
        {
          id: 't1',
          agentId: 'main',
          date: '2026-01-02',
          title: 'Hello there',
          createdAt: 0,
          updatedAt: Date.UTC(2026, 0, 2, 3, 4),
          compactions: 0,
        },
      ],
      load: (id: string) => (id === 't1' ? { thread: { id }, messages: [] } : null),
    },
    extensions: {
      discovery: { declarations: new Map() },
      setup: {
        provider: () => null,
        configure: () => Promise.reject(new Error('not here')),
        secrets: () => [],
        secretUsers: async () => [],
        setSecret: () => Promise.reject(new Error('not here')),
        allowSecret: () => Promise.reject(new Error('not here')),
      },
      waitingToolset: async () => null,
      logger: () => ({ debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined }),
      list: () => [
        {
          id: 'kv',
          state: 'idle',
          provides: ['tool'],
          shipped: true,
          tier: 'in_process',
          directory: '/p/kv',
          version: '1.0.0',
          generation: 0,
          manifest: null,
          asks: [],
          notes: [],
        },
        {
          id: 'broken',
          state: 'failed',
          provides: ['tool'],
          shipped: false,
          tier: 'in_process',
          directory: '/s/broken',
          version: '0.0.0',
          generation: 0,
          manifest: null,
          asks: [],
          phase: 'import',
          code: 'import_failed',
          message: 'no default export',
          file: '/s/broken/main.ts',
          line: 3,
          cure: 'Export the class',
          notes: [],
        },
      ],
      show(id: string) {
        return this.list().find((status) => status.id === id) ?? null;
      },
      async reload(id: string) {
        return this.show(id)!;
      },
    },
    agents: { list: async () => [{ id: 'main', state: 'active', spec: { id: 'main', name: 'main', model: 'default' }, notes: [] }] },
    doctor: async () => ({
      ok: false,
      model: { ref: 'offline/librarian', why: 'no model is set up' },
      extensions: [{ id: 'kv', state: 'active' }],
      agents: [{ id: 'main', state: 'active' }],
      skills: { offered: 3, invalid: 1 },
    }),
    start: async () => undefined,
    startUsed: async () => undefined,
    stop: async () => undefined,
  };
  return fake as unknown as Kernel;
}
