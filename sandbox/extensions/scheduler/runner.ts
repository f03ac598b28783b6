import { type ExtensionContext, type Job, type JobInfo, PithError, type TurnEvent } from 'pith';
import type { ScheduleStore } from './schedule-store.ts';
import { type Schedule, threadOf } from './schedule.ts';

type Ports = Pick<ExtensionContext, 'id' | 'agents' | 'clock' | 'events' | 'jobs'>;
type End = Pick<Extract<TurnEvent, { type: 'turn-end' }>, 'reason' | 'text' | 'error'>;

/** The payload of a job: one time of a schedule. */
interface Run {
  readonly schedule: string;
  readonly at: number;
  readonly correlationId: string;
}

/** How a run ended that another attempt at its job takes up. */
const UNDONE: ReadonlySet<string> = new Set(['error', 'aborted']);
/** Longer work is a task. */
const LONGEST_RUN_MS = 9 * 60_000;
/** The wait before another look at a run that another process works on. */
const BUSY_MS = 10_000;

/** Has schedules run at their times: each is one job, of a timetable or of its own. */
export class Runner {
  constructor(
    private readonly ports: Ports,
    private readonly store: ScheduleStore,
  ) {
    ports.jobs.define<Run>('run', (job, signal) => this.#run(job, signal), { ended: (job) => this.#stopped(job) });
  }

  /** A run that waited for a person continues, by another job: one that waited would hold the next time of its schedule. */
  async continueRun(id: string, at: number, correlationId: string): Promise<void> {
    const run = { schedule: id, at, correlationId } satisfies Run;
    await this.ports.jobs.add('run', run, { sequence: threadOf({ id }, at) });
  }

  async #run({ payload }: Job<Run>, signal: AbortSignal) {
    const { schedule: id, at, correlationId } = payload;
    const { jobs, clock } = this.ports;
    const schedule = await this.store.get(id);
    if (schedule === null) {
      await jobs.schedule(id, null); // it was cancelled, or has had its one time
      return { skipped: 'its schedule is gone; make it again' };
    }
    if (schedule.last?.at === at && !UNDONE.has(schedule.last.reason)) return; // it has ended
    const end = await this.#turn(schedule, payload, signal);
    signal.throwIfAborted(); // the run continues in the next attempt
    if (end.error?.code === 'thread_busy') return jobs.again(clock.now() + BUSY_MS); // the key of its turn tells what came of it
    const { code, message, retryAfterMs } = end.error ?? {};
    if (code === 'model_rate_limited') throw new PithError(code, String(message), { retryAfterMs }); // its turn continues once the provider takes requests
    await this.#notify(schedule, at, correlationId, end);
    if (end.reason !== 'awaiting_approval') await this.store.end(schedule, lastOf(at, end));
  }

  /** Its job was cancelled, or is dead. */
  async #stopped({ payload, state, error }: JobInfo): Promise<void> {
    const { schedule: id, at, correlationId } = payload as unknown as Run;
    const schedule = await this.store.get(id);
    if (schedule === null || schedule.last?.at === at) return;
    const end: End = { reason: state === 'cancelled' ? 'aborted' : 'error', text: '', ...(error === null ? {} : { error }) };
    await this.#notify(schedule, at, correlationId, end);
    await this.store.end(schedule, lastOf(at, end));
  }

  async #turn(schedule: Schedule, { at, correlationId }: Run, signal: AbortSignal): Promise<End> {
    const { agentId: agent, message: input, by, policy } = schedule;
    const threadId = threadOf(schedule, at);
    const who = { channelId: by.channel, userId: by.user, correlationId };
    const request = { agent, input, threadId, ...who, key: threadId, policy: this.#narrowed(policy) };
    for await (const event of this.ports.agents.run(request, signal)) if (event.type === 'turn-end') return event;
    throw new PithError('interrupted', `the run of '${schedule.id}' ended without a result`, { retryable: true });
  }

  /** A run cannot create schedules: it could keep itself alive without anybody's consent. */
  #narrowed(policy: Schedule['policy']): Schedule['policy'] {
    const { id } = this.ports;
    return {
      ...policy,
      denyTools: [...(policy.denyTools ?? []), `${id}/schedule_once`, `${id}/schedule_recurring`],
      limits: { ...policy.limits, time_budget_ms: Math.min(policy.limits?.time_budget_ms ?? Infinity, LONGEST_RUN_MS) },
    };
  }

  async #notify({ id, agentId, by }: Schedule, at: number, correlationId: string, { reason, text, error }: End): Promise<void> {
    const what = `${agentId} (schedule ${id})`;
    const said = {
      done: `${what}: ${text}`,
      awaiting_approval: `${what} waits for an answer: see pith approvals`,
      limit: `${what} stopped at a limit: ${error?.message ?? ''}${text === '' ? '' : `; so far: ${text}`}`,
      aborted: `${what} was stopped`,
      error: `${what} failed: ${error?.message ?? 'it gave no reason'}`,
    }[reason];
    const about = { kind: 'thread', id: threadOf({ id }, at) };
    const notice = { v: 1, text: said, kind: 'schedule', about, target: null, threadId: by.thread, userId: by.user } as const;
    await this.ports.events.publish('notify', notice, { key: about.id, correlationId });
  }
}

function lastOf(at: number, { reason, error }: End): NonNullable<Schedule['last']> {
  return { at, reason, ...(error === undefined ? {} : { error: error.message }) };
}
