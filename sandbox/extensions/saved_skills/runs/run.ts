import { once } from '@pith/promises';
import { messageOf, z, PithError, type TurnSeal } from 'pith';
import type { Inputs } from '../domain/inputs.ts';
import type { RunRow } from '../store/tables.ts';
import type { RunSealing } from '../contract.ts';

/** `waiting`: for a person's answer, without a slot. */
export const RUN_STATES = ['queued', 'running', 'waiting', 'ok', 'max_iterations', 'timeout', 'error', 'cancelled', 'preempted'] as const;
export type RunState = (typeof RUN_STATES)[number];

export const RUN_CAUSES = ['manual', 'tool', 'schedule', 'webhook', 'composed'] as const;
export type RunCause = (typeof RUN_CAUSES)[number];

/** The payload of jobs that are about a run. */
export interface OfRun {
  readonly run: string;
}

/** Where a run was asked for. */
export interface RunOrigin {
  readonly channelId: string | null;
  readonly threadId: string | null;
  /** What a channel calls the message that asked for it: reactions go there. */
  readonly message: string | null;
  /** The conversation to which its host wants the result delivered: `__thread_id__`. */
  readonly named?: string;
}

export const NO_ORIGIN: RunOrigin = { channelId: null, threadId: null, message: null };

type Camel<Name extends string> = Name extends `${infer First}_${infer Rest}` ? `${First}${Capitalize<Camel<Rest>>}` : Name;
/** The columns of a run, by the names that code has for them. */
type Columns = { readonly [Key in keyof RunRow as Camel<Key>]: RunRow[Key] };

/** A run as its row says; columns that only the store looks at are left out, and JSON is read. */
export interface Run extends Omit<
  Columns,
  | ('cancelAsked' | 'inputs' | 'origin' | 'extensions' | 'cause' | 'state' | 'delivery' | 'pinned' | 'preemptible')
  | ('inputTokens' | 'outputTokens' | 'errorCode' | 'errorMessage')
> {
  readonly pinned: boolean;
  readonly cause: RunCause;
  readonly inputs: Inputs;
  readonly origin: RunOrigin;
  readonly preemptible: boolean;
  readonly state: RunState;
  readonly usage: { readonly inputTokens: number; readonly outputTokens: number };
  /** Why the result, which is encrypted, cannot be read; null: it is in `output`. */
  readonly sealed: string | null;
  readonly error: { readonly code: string; readonly message: string } | null;
  /** Versions of the extensions whose tools it may call, by id. */
  readonly extensions: Readonly<Record<string, string>>;
  readonly delivery: 'none' | 'waiting' | 'delivered' | 'failed';
  /** Its record cannot be read: it never runs, and `error` says why. */
  readonly isDamaged: boolean;
}

const ENDED: ReadonlySet<RunState> = new Set<RunState>(['ok', 'max_iterations', 'timeout', 'error', 'cancelled', 'preempted']);

export function hasEnded({ state }: Pick<Run, 'state'>): boolean {
  return ENDED.has(state);
}

/** The conversation in which a run works. */
export function threadOf(runId: string): string {
  return `runs/${runId}`;
}

/** The run that works in a thread, or in one that was called from it; null for other threads. */
export function runOfThread(threadId: string): string | null {
  return /^runs\/([0-9A-Z]{26})(?:\/|$)/.exec(threadId)?.[1] ?? null;
}

/** Never throws: one damaged record keeps no other run from its slot. */
export function runOf(row: RunRow): Run {
  const { damage, ...record } = readOf(row);
  const named = Object.entries(row).map(([name, value]) => [name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()), value]);
  const columns = Object.fromEntries(named) as Columns;
  const { cause, state, delivery, inputTokens, outputTokens, errorCode, errorMessage } = columns;
  return {
    ...columns,
    ...record,
    pinned: columns.pinned === 1,
    preemptible: columns.preemptible === 1,
    cause: cause as RunCause,
    state: state as RunState,
    delivery: delivery as Run['delivery'],
    usage: { inputTokens, outputTokens },
    sealed: null,
    error: damage ?? (errorCode === null ? null : { code: errorCode, message: errorMessage ?? '' }),
    isDamaged: damage !== null,
  };
}

const recordSchema = once(() => {
  const name = z.string().nullable();
  return z.object({
    inputs: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
    origin: z.object({ channelId: name, threadId: name, message: name, named: z.string().exactOptional() }),
    extensions: z.record(z.string(), z.string()),
  });
});

function readOf(row: RunRow): Pick<Run, 'inputs' | 'origin' | 'extensions'> & { readonly damage: Run['error'] } {
  try {
    const { inputs, origin, extensions } = row;
    const record = { inputs: JSON.parse(inputs), origin: JSON.parse(origin), extensions: JSON.parse(extensions ?? '{}') };
    return { ...recordSchema().parse(record), damage: null };
  } catch (error) {
    const damage = { code: 'run_damaged', message: `the record of the run cannot be read: ${messageOf(error)}` };
    return { inputs: {}, origin: NO_ORIGIN, extensions: {}, damage };
  }
}

/** Begins a text of a run that is sealed. */
const MARK = 'pith:sealed:';

/** What is written down of runs of encrypted skills: their conversations, their results. */
export class RunSeal {
  /** `provider`: whoever seals; null: nobody does. */
  constructor(private readonly provider: () => RunSealing | null) {}

  /** Rejects `key_unavailable` where it cannot be sealed. */
  async of(skillId: string): Promise<TurnSeal> {
    const provider = this.#provider();
    await provider.seal(skillId, ''); // before anything is asked of the model
    return { seal: (text) => provider.seal(skillId, text), open: (sealed) => provider.open(skillId, sealed) };
  }

  async sealed(skillId: string, text: string | null): Promise<string | null> {
    return text === null ? null : `${MARK}${await this.#provider().seal(skillId, text)}`;
  }

  /** With its result, or why that cannot be read. */
  async opened(run: Run): Promise<Run> {
    if (run.output === null || !run.output.startsWith(MARK)) return run;
    try {
      return { ...run, output: await this.#provider().open(run.skillId, run.output.slice(MARK.length)) };
    } catch (error) {
      return { ...run, output: null, sealed: messageOf(error) };
    }
  }

  #provider(): RunSealing {
    const found = this.provider();
    if (found !== null) return found;
    throw new PithError('key_unavailable', 'what runs of this skill keep is encrypted, and nothing decrypts it', {
      cure: 'switch skill_vault on',
    });
  }
}
