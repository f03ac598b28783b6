import { z, type TurnPolicy } from 'pith';

/** One thing that an agent is to do later. */
export interface Schedule {
  readonly id: string;
  readonly agentId: string;
  /** The message for the agent. */
  readonly message: string;
  /** Five fields; null for once. */
  readonly cron: string | null;
  readonly timeZone: string | null;
  /** null: nothing more falls due. */
  readonly nextAt: number | null;
  /** Times that fell due and whose run has not ended yet: it runs, or waits for a person. */
  readonly open: readonly number[];
  readonly last: { readonly at: number; readonly reason: string } | null;
  readonly createdAt: number;
  /** Whoever asked for it, where. */
  readonly by: { readonly agent: string; readonly user: string; readonly channel: string; readonly thread: string };
  /** At most what the turn that made it could do. */
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

/** Whose run a thread is, or what was called from it; null for others. */
export function runOf(threadId: string): { readonly id: string; readonly at: number } | null {
  const found = /^schedules\/([^/]+)\/(\d+)(?:\/|$)/.exec(threadId);
  return found === null ? null : { id: String(found[1]), at: Number(found[2]) };
}

/** What a list shows. */
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
