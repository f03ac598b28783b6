import { type LanguageModel, type Clock, PithError } from '../../contract/index.ts';
import type { AgentKeyCheck } from './schemas.ts';
import type { Phase } from '../records/error-codes.ts';
import type { PromptTemplate } from './render-prompt.ts';
import type { Surface } from './surface.ts';
import type { Declaration, ExtensionConfig } from '../../declarations/index.ts';
import { readable } from '../records/failures.ts';
import { within } from '@pith/promises';

export interface ModelParts {
  readonly model: LanguageModel;
  readonly contextWindow: number | null;
}

/** Where the code of an extension runs: inside the kernel, or in a separate process. */
export type Tier = 'in_process' | 'process';

/** What a generation is made of: the sources as they were declared, and the settings as they were then. */
export interface Version {
  readonly declaration: Declaration;
  readonly config: ExtensionConfig;
}

/** A version of an extension that has been constructed and checked. One of `initialize` and `discard` is called, once; `discard` also while Pith ends during the other. */
export interface Candidate extends Version {
  readonly number: number;
  /** Made with Pith from the same sources: Pith's own code. */
  readonly shipped: boolean;
  readonly tier: Tier;
  /** Initialises it and learns what it offers. Rejects with a `Problem`; the candidate is closed then. */
  initialize(): Promise<Generation>;
  /** Releases what its construction took; ends its process, whatever that is at. Never rejects. */
  discard(): Promise<void>;
}

/** A version of an extension that runs. */
export interface Generation extends Omit<Candidate, 'initialize' | 'discard'> {
  /** Replaced when its tools have changed. */
  surface: Surface;
  readonly calls: Calls;
  /** Does work of the extension in its name, for the message that `correlationId` names. */
  run<T>(phase: Phase, work: () => T, correlationId?: string): T;
  /** Calls `start` and, where wanted, runs the service, each once. Rejects with a `Problem`. */
  start(withService: boolean): Promise<void>;
  /** Aborts the service. Never rejects: what goes wrong is recorded. */
  stopService(): Promise<void>;
  /** Calls `stop` and releases what it owns. Never rejects. */
  stop(): Promise<void>;
  /** The same code with the same settings, constructed again. Rejects with a `Problem`. */
  again(number: number): Promise<Candidate>;
  /** Checks a value under `agent:`; `path` begins with `agent.<key>`. */
  checkAgentKey(key: string, value: unknown): Promise<AgentKeyCheck>;
  /** The text of a prompt of its own. Rejects `prompt_invalid`, and what keeps its process from answering. */
  renderPrompt(prompt: PromptTemplate, signal: AbortSignal): Promise<string>;
  getModel(name: string, prefix: string): Promise<ModelParts>;
}

/** Stops the service, gives open calls `graceMs`, stops the rest. Never rejects. */
export async function close(generation: Generation, graceMs: number): Promise<void> {
  await generation.stopService();
  await generation.calls.drain(graceMs);
  await generation.stop();
}

export interface CallLimit {
  /** null: no limit. */
  readonly timeoutMs: number | null;
  readonly timedOut: () => PithError;
  /** The caller's. */
  readonly signal: AbortSignal | undefined;
}

/** The calls that one generation of an extension is working on. */
export class Calls {
  readonly #open = new Set<AbortController>();
  #emptied: (() => void) | undefined;
  #isCut = false;

  constructor(private readonly clock: Clock) {}

  /** Its generation was stopped or replaced before its calls had ended. */
  get isCut(): boolean {
    return this.#isCut;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Runs `start` until it ends, its time is over, its caller aborts, or `drain` ends it; what cuts it aborts the signal that it was given. */
  async run<T>({ timeoutMs, timedOut, signal: caller }: CallLimit, start: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (caller?.aborted) throw aborted(caller);
    const call = new AbortController();
    const result = start(call.signal);
    return new Promise<T>((resolve, reject) => {
      const giveUp = (): void => call.abort(aborted(caller));
      const cancel = timeoutMs === null ? undefined : this.clock.after(timeoutMs, () => call.abort(timedOut()));
      const end = (): void => {
        cancel?.();
        caller?.removeEventListener('abort', giveUp);
        if (this.#open.delete(call) && this.#open.size === 0) this.#emptied?.();
      };
      this.#open.add(call);
      call.signal.addEventListener('abort', () => {
        end();
        reject(call.signal.reason as PithError);
      });
      if (caller?.aborted) giveUp(); // while it started
      else caller?.addEventListener('abort', giveUp);
      result.finally(end).then(resolve, (error: unknown) => reject(readable(error)));
    });
  }

  /** Waits up to `graceMs` for open calls, then ends them `interrupted`. */
  async drain(graceMs: number): Promise<void> {
    if (this.#open.size === 0) return;
    const emptied = new Promise<void>((resolve) => (this.#emptied = resolve));
    await within(this.clock, graceMs, emptied);
    this.#emptied = undefined;
    this.#isCut = this.#open.size > 0;
    for (const call of this.#open)
      call.abort(new PithError('interrupted', 'the extension was stopped or replaced before the call ended', { retryable: true }));
  }
}

function aborted(signal: AbortSignal | undefined): PithError {
  return new PithError('aborted', 'the call was aborted', { cause: signal?.reason });
}
