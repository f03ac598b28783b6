import { UNDECLARED, type AgentStatus } from '../agent/index.ts';
import type { Diagnostic, Events } from '../contract/index.ts';
import type { ExtensionStatus } from '../kernel/index.ts';

/** Findings on something that was written and does not hold. */
const IGNORED: readonly string[] = ['unknown_key', 'manifest_invalid', 'config_invalid', 'guard_failed', ...UNDECLARED];

/** What whoever opens the sandbox is told before anything is opened. */
const SAID_BEFORE: readonly string[] = ['restricted', 'state_unknown'];

export function isIgnored({ code }: { readonly code: string }): boolean {
  return IGNORED.includes(code);
}

export type Problem = Diagnostic & { readonly phase?: string };

export function isWorthSaying({ severity, code }: Diagnostic): boolean {
  return severity !== 'info' && !SAID_BEFORE.includes(code);
}

/** It cannot run, or what runs is not what was written or asked for; not what only went wrong while it runs. */
export function fails({ state, phase, code }: Pick<ExtensionStatus, 'state' | 'phase' | 'code'>): boolean {
  return state === 'failed' || state === 'blocked' || phase === 'reload' || phase === 'start' || code === 'guard_failed';
}

export function ofExtension(status: ExtensionStatus): readonly Problem[] {
  return [
    ...(fails(status) && status.code !== 'dependency_failed' ? [failureOf(status.id, status)] : []),
    ...status.notes.filter(isIgnored).map((note): Diagnostic => ({ severity: 'warning', ...note })),
  ];
}

/** An extension, and what went wrong with it. */
export function failureOf(id: string, failure: Pick<ExtensionStatus, 'phase' | 'code' | 'message' | 'file' | 'line' | 'cure'>): Problem {
  const { phase, code, message, file, line, cure } = failure;
  return {
    severity: 'error',
    code: code ?? 'internal',
    message: `the extension '${id}' ${phase === 'reload' ? 'was not reloaded' : phase === 'start' ? 'did not start' : 'cannot run'}: ${message ?? 'it failed'}`,
    phase,
    file,
    line,
    cure,
  };
}

export function ofAgent({ id, state, notes }: AgentStatus, isDefault: boolean): readonly Diagnostic[] {
  if (state !== 'failed') return notes.filter((note) => note.severity !== 'info' && isIgnored(note));
  return notes
    .filter(({ severity, code }) => severity === 'error' && (isDefault || code !== 'dependency_failed'))
    .map((note) => ({ ...note, message: `the agent '${id}' cannot run: ${note.message}` }));
}

/** Publishes each problem that comes while somebody listens, once: asking the agents would load code for nobody. */
export class NewProblems {
  #isWatched = false;
  #known: ReadonlySet<string> = new Set();
  #collections = 0;

  constructor(
    private readonly events: Pick<Events, 'publish'>,
    private readonly collect: () => Promise<readonly Problem[]>,
  ) {}

  /** From now on, until the function that it returns is called. */
  watch(): () => void {
    this.#isWatched = true;
    return () => void (this.#isWatched = false);
  }

  /** These have been shown. */
  know(problems: readonly Diagnostic[]): void {
    this.#known = new Set([...this.#known, ...problems.map(unplaced)]);
  }

  /** What has come since the last time. */
  async publish(): Promise<void> {
    if (!this.#isWatched) return;
    const collection = (this.#collections += 1);
    const problems = await this.collect();
    if (collection !== this.#collections) return; // a later one knows what has been corrected meanwhile
    const known = this.#known;
    this.#known = new Set(problems.map(unplaced));
    for (const { phase, ...problem } of problems)
      if (phase !== 'reload' && !known.has(unplaced(problem))) this.events.publish('problem.found', problem); // a reload publishes its failure
  }
}

/** An edit above it moves the line that a message names. */
function unplaced({ message }: { readonly message: string }): string {
  return message.replace(/:\d+(?=[ :])/gu, '');
}
