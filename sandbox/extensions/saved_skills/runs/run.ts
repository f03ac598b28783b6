import { once } from '@pith/promises';
import { messageOf, z } from 'pith';
import type { Inputs } from '../domain/index.ts';
import type { RunRow } from '../store/index.ts';

/** `waiting`: for a person's answer, without a slot. */
export const RUN_STATES = ['queued', 'running', 'waiting', 'ok', 'max_iterations', 'timeout', 'error', 'cancelled', 'preempted'] as const;
export type RunState = (typeof RUN_STATES)[number];

export type RunCause = 'manual' | 'tool' | 'schedule' | 'webhook' | 'composed';

/** Where a run was asked for. */
export interface RunOrigin {
  readonly channelId: string | null;
  readonly threadId: string | null;
  /** What a channel calls the message that asked for it: reactions go there. */
  readonly message: string | null;
}

export const NO_ORIGIN: RunOrigin = { channelId: null, threadId: null, message: null };

export interface Run {
  readonly id: string;
  readonly skillId: string;
  /** `owner/name`, or the name of one that ships. */
  readonly skill: string;
  readonly versionId: string;
  readonly version: string;
  /** It reads its skills as they were when the version was saved; else as they are. */
  readonly pinned: boolean;
  readonly userId: string;
  readonly actsAs: string;
  readonly cause: RunCause;
  readonly inputs: Inputs;
  readonly origin: RunOrigin;
  readonly parentId: string | null;
  readonly depth: number;
  readonly lane: string;
  readonly priority: number;
  readonly preemptible: boolean;
  readonly state: RunState;
  readonly attempt: number;
  readonly queuedAt: number;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  readonly steps: number;
  readonly toolCalls: number;
  readonly usage: { readonly inputTokens: number; readonly outputTokens: number };
  readonly statusLine: string | null;
  readonly output: string | null;
  /** Why the result, which is encrypted, cannot be read; null: it is in `output`. */
  readonly sealed: string | null;
  readonly error: { readonly code: string; readonly message: string } | null;
  /** Versions of the extensions whose tools it may call, by id. */
  readonly extensions: Readonly<Record<string, string>>;
  readonly delivery: 'none' | 'waiting' | 'delivered' | 'failed';
  readonly deliveryAttempts: number;
  readonly deliveryError: string | null;
  readonly partsDelivered: number;
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
  const { inputs, origin, extensions, damage } = readOf(row);
  return {
    id: row.id,
    skillId: row.skill_id,
    skill: row.skill,
    versionId: row.version_id,
    version: row.version,
    pinned: row.pinned === 1,
    userId: row.user_id,
    actsAs: row.acts_as,
    cause: row.cause as RunCause,
    inputs,
    origin,
    parentId: row.parent_id,
    depth: row.depth,
    lane: row.lane,
    priority: row.priority,
    preemptible: row.preemptible === 1,
    state: row.state as RunState,
    attempt: row.attempt,
    queuedAt: row.queued_at,
    startedAt: row.started_at,
    endedAt: row.ended_at,
    steps: row.steps,
    toolCalls: row.tool_calls,
    usage: { inputTokens: row.input_tokens, outputTokens: row.output_tokens },
    statusLine: row.status_line,
    output: row.output,
    sealed: null,
    error: damage ?? (row.error_code === null ? null : { code: row.error_code, message: row.error_message ?? '' }),
    extensions,
    delivery: row.delivery as Run['delivery'],
    deliveryAttempts: row.delivery_attempts,
    deliveryError: row.delivery_error,
    partsDelivered: row.parts_delivered,
    isDamaged: damage !== null,
  };
}

const recordSchema = once(() => {
  const name = z.string().nullable();
  return z.object({
    inputs: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
    origin: z.object({ channelId: name, threadId: name, message: name }),
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
