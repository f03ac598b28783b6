/** The command line alone, beside tests of it on the real kernel: what is done of a kernel, in which order, and how what it says is printed. */
import { PassThrough, Writable } from 'node:stream';
import type { Command } from '../../../core/contract/index.ts';
import { type OpenKernel, runCli, type Target } from '../../../core/cli/index.ts';
import type { Kernel } from '../../../core/compose/index.ts';
import type { DeclaredCommand } from '../../../core/kernel/index.ts';

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
      cwd: options.cwd ?? process.cwd(),
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
  const providers: unknown = {
    commands: {
      declared: () => (log.push('declared'), declared),
      contextOf: () => ({}),
      importEntry: async () => (log.push('entry'), async () => commands),
      of: async (id: string) => (log.push(`activate ${id}`), commands),
    },
  };
  return async (target) => {
    targets.push(target);
    log.push('kernel');
    return {
      ...made,
      host: { ...made.host, providers: providers as Kernel['host']['providers'] },
      start: async (which = 'all') => void log.push(which === 'all' ? 'start' : 'start used'),
      stop: async () => void log.push('stop'),
    };
  };
}

export function declare(path: string, needs: DeclaredCommand['needs'], extensionId = 'sample'): DeclaredCommand {
  return {
    extensionId,
    path,
    declared: path,
    needs,
    entry: needs === 'index' ? 'commands.ts' : undefined,
    description: `Does ${path}`,
    first: null,
    hidden: false,
    opening: '',
  };
}

/** What the commands need that are run on it; the others are run on the real kernel. */
export function fakeKernel(): Kernel {
  const fake = {
    sandbox: '/s',
    trust: { level: 'trusted', opened: '/s', why: null },
    settings: { default_agent: 'main' },
    findings: () => [],
    problems: async () => [],
    events: { handle: () => () => undefined },
    host: { extensions: { list: () => [] } },
    agents: { list: async () => [{ id: 'main', state: 'active', spec: { id: 'main', name: 'main', model: 'default' }, notes: [] }] },
    doctor: async () => ({
      ok: true,
      model: { ref: 'offline/librarian', why: 'no model is set up' },
      extensions: [{ id: 'kv', state: 'active' }],
      agents: [{ id: 'main', state: 'active' }],
      skills: { offered: 3, invalid: 1 },
    }),
  };
  return fake as unknown as Kernel;
}
