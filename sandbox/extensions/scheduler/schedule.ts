import { z, type TurnPolicy } from 'pith';

/** One scheduled message for an agent. */
export interface Schedule {
  readonly id: string;
  readonly agentId: string;
  /** The message for the agent. */
  readonly message: string;
  /** Five fields; null for once. */
  readonly cron: string | null;
  readonly timeZone: string | null;
  /** null: there are no further times. */
  readonly nextAt: number | null;
  /** Due times whose run has not ended: it runs, or waits for a person. */
  readonly open: readonly number[];
  readonly last: { readonly at: number; readonly reason: string } | null;
  readonly createdAt: number;
  /** Who asked for it, and where. */
  readonly by: { readonly agent: string; readonly user: string; readonly channel: string; readonly thread: string };
  /** The limits of the turn that created it, which a run cannot exceed. */
  readonly policy: TurnPolicy;
}

const stored = z.looseObject({
  id: z.string(),
  agentId: z.string(),
  message: z.string(),
  cron: z.string().nullable(),
  timeZone: z.string().nullable(),
  nextAt: z.number().nullable(),
  open: z.array(z.number()),
  last: z.looseObject({ at: z.number(), reason: z.string() }).nullable(),
  createdAt: z.number(),
  by: z.object({ agent: z.string(), user: z.string(), channel: z.string(), thread: z.string() }),
  policy: z.looseObject({}),
});

/** Throws for a damaged row. */
export function parseSchedule(text: string): Schedule {
  return stored.parse(JSON.parse(text)) as unknown as Schedule;
}

const THREADS = 'schedules/';

/** Each run has a separate thread. */
export function threadOf({ id }: Pick<Schedule, 'id'>, at: number): string {
  return `${THREADS}${id}/${at}`;
}

/** The run of a thread, or of the thread that it was called from; null for other threads. */
export function runOf(threadId: string): { readonly id: string; readonly at: number } | null {
  const found = /^schedules\/([^/]+)\/(\d+)(?:\/|$)/.exec(threadId);
  return found === null ? null : { id: String(found[1]), at: Number(found[2]) };
}

/** The fields that a list shows. */
export function scheduleView({ id, agentId, message, cron, timeZone, nextAt, last }: Schedule) {
  return {
    schedule_id: id,
    agent_id: agentId,
    message,
    ...(cron === null ? {} : { cron, time_zone: timeZone }),
    next: nextAt === null ? null : new Date(nextAt).toISOString(),
    ...(last === null ? {} : { last: { at: new Date(last.at).toISOString(), reason: last.reason } }),
  };
}
