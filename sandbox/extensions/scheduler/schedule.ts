import { nextCronTime } from '@pith/cron-times';
import { z, type TurnPolicy } from 'pith';

/** One scheduled message for an agent. */
export interface Schedule {
  readonly id: string;
  readonly agentId: string;
  /** The message for the agent. */
  readonly message: string;
  /** Five fields; null: it runs once. */
  readonly cron: string | null;
  readonly timeZone: string | null;
  /** When it runs once. */
  readonly at: number | null;
  /** `error`: why it did not end well. */
  readonly last: { readonly at: number; readonly reason: string; readonly error?: string } | null;
  readonly createdAt: number;
  /** Who asked for it, and where. */
  readonly by: { readonly agent: string; readonly user: string; readonly channel: string; readonly thread: string };
  /** Of the turn that created it. */
  readonly correlationId: string;
  /** The limits of the turn that created it, which a run cannot exceed. */
  readonly policy: TurnPolicy;
  /** Version 1.0 kept the next time, and times whose run had begun and not ended. Now jobs do: null and none. */
  readonly nextAt: number | null;
  readonly open: readonly number[];
}

const stored = z
  .looseObject({
    id: z.string(),
    agentId: z.string(),
    message: z.string(),
    cron: z.string().nullable(),
    timeZone: z.string().nullable(),
    at: z.number().nullable().default(null),
    open: z.array(z.number()),
    last: z.looseObject({ at: z.number(), reason: z.string(), error: z.string().exactOptional() }).nullable(),
    createdAt: z.number(),
    by: z.object({ agent: z.string(), user: z.string(), channel: z.string(), thread: z.string() }),
    correlationId: z.string().optional(),
    policy: z.looseObject({}),
    nextAt: z.number().nullable(),
  })
  .transform((row) => ({ ...row, correlationId: row.correlationId ?? row.id }));

/** Throws for a damaged row. */
export function parseSchedule(text: string): Schedule {
  return stored.parse(JSON.parse(text)) as unknown as Schedule;
}

/** When it runs next; null: it is due, or runs for the last time. */
export function nextOf({ cron, timeZone, at }: Schedule, now: number): number | null {
  const next = cron === null ? at : nextCronTime(cron, String(timeZone), now);
  return typeof next === 'number' && next > now ? next : null;
}

/** The fields that a list shows. */
export function scheduleView(schedule: Schedule, now: number) {
  const { id, agentId, message, cron, timeZone, last } = schedule;
  const next = nextOf(schedule, now);
  return {
    schedule_id: id,
    agent_id: agentId,
    message,
    ...(cron === null ? {} : { cron, time_zone: timeZone }),
    next: next === null ? null : new Date(next).toISOString(),
    ...(last === null ? {} : { last: { ...last, at: new Date(last.at).toISOString() } }),
  };
}

/** Each run has a separate thread. */
export function threadOf({ id }: Pick<Schedule, 'id'>, at: number): string {
  return `schedules/${id}/${at}`;
}

/** The run of a thread, or of the thread that it was called from; null for other threads. */
export function runOf(threadId: string): { readonly id: string; readonly at: number } | null {
  const found = /^schedules\/([^/]+)\/(\d+)(?:\/|$)/.exec(threadId);
  return found === null ? null : { id: String(found[1]), at: Number(found[2]) };
}
