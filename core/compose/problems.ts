import type { Diagnostic, Events } from '../contract/index.ts';
import type { ExtensionStatus } from '../kernel/index.ts';
import { UNDECLARED, type AgentStatus } from '../agent/index.ts';

/** Findings on something that was written and does not hold. */
const IGNORED: readonly string[] = ['unknown_key', 'manifest_invalid', 'config_invalid', 'guard_failed', ...UNDECLARED];

/** What whoever opens the sandbox is told before anything is opened. */
const SAID_BEFORE: readonly string[] = ['restricted', 'state_unknown'];

export function isIgnored({ code }: { readonly code: string }): boolean {
  return IGNORED.includes(code);
}

type Problem = Diagnostic & { readonly phase?: string };

export interface ProblemSources {
  readonly findings: readonly Diagnostic[];
  /** What extensions find wrong in their own matters. */
  readonly own: readonly Diagnostic[];
  readonly extensions: readonly ExtensionStatus[];
  readonly agents: readonly AgentStatus[];
  readonly defaultAgent: string;
}

/**
 * What a person would want to know before they begin: wrong settings, extensions and agents that cannot run or of which a key was
 * ignored, and what extensions find wrong in their own matters. What only waits for something else is left out: its cause is there.
 */
export function problemsIn({ findings, own, extensions, agents, defaultAgent }: ProblemSources): readonly Problem[] {
  const failed = new Set(extensions.filter(({ state }) => state === 'failed' || state === 'blocked').map(({ id }) => id)); // with their agents
  const found: Problem[] = [
    ...findings.filter(isWorthSaying),
    ...extensions.flatMap(ofExtension),
    ...agents.filter(({ id }) => !failed.has(id)).flatMap((agent) => ofAgent(agent, agent.id === defaultAgent)),
    ...own.filter(isWorthSaying),
  ];
  return [...new Map(found.map((each) => [`${each.file}:${each.line}:${each.message}`, each])).values()];
}

function isWorthSaying({ severity, code }: Diagnostic): boolean {
  return severity !== 'info' && !SAID_BEFORE.includes(code);
}

/** It cannot run, or what runs is not what was written or asked for; not what only went wrong while it runs. */
export function fails({ state, phase, code }: Pick<ExtensionStatus, 'state' | 'phase' | 'code'>): boolean {
  return state === 'failed' || state === 'blocked' || phase === 'reload' || phase === 'start' || code === 'guard_failed';
}

function ofExtension(status: ExtensionStatus): readonly Problem[] {
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

function ofAgent({ id, state, notes }: AgentStatus, isDefault: boolean): readonly Diagnostic[] {
  if (state !== 'failed') return notes.filter((note) => note.severity !== 'info' && isIgnored(note));
  return notes
    .filter(({ severity, code }) => severity === 'error' && (isDefault || code !== 'dependency_failed'))
    .map((note) => ({ ...note, message: `the agent '${id}' cannot run: ${note.message}` }));
}

/** Publishes each problem that comes while Pith runs, once. */
export class NewProblems {
  #known: ReadonlySet<string> = new Set();
  #collections = 0;

  constructor(
    private readonly events: Pick<Events, 'publish'>,
    private readonly collect: () => Promise<readonly Problem[]>,
  ) {}

  /** These have been shown. */
  know(problems: readonly Diagnostic[]): void {
    this.#known = new Set([...this.#known, ...problems.map(unplaced)]);
  }

  /** What has come since the last time. */
  async publish(): Promise<void> {
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
