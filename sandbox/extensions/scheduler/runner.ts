import { PithError, type Delivery, type ExtensionContext, type TopicMap, type TurnEvent } from 'pith';
import type { ScheduleStore } from './schedule-store.ts';
import { runOf, threadOf, type Schedule } from './schedule.ts';
import { nextRun } from './times.ts';

type Ports = Pick<ExtensionContext, 'id' | 'agents' | 'clock' | 'events'>;
type End = Extract<TurnEvent, { type: 'turn-end' }>;

/** Less than the time limit of one delivery; longer work is a task. */
const LONGEST_RUN_MS = 9 * 60_000;
/** The wait before another look at a run that another process continues. */
const BUSY_MS = 10_000;
/** The most open runs of a schedule: unanswered questions beyond it are dropped. */
const MOST_OPEN = 10;

/** Runs due schedules. */
export class Runner {
  constructor(
    private readonly ports: Ports,
    private readonly store: ScheduleStore,
  ) {}

  /** Writes the event that wakes the schedule. */
  async arm({ id, nextAt }: Schedule, correlationId: string): Promise<void> {
    if (nextAt === null) return;
    const { events, id: extensionId } = this.ports;
    await events.publish(
      'schedule.due',
      { v: 1, extensionId, name: id, at: nextAt },
      { at: nextAt, key: `${extensionId}/${id}`, correlationId },
    );
  }

  /** One delivery of `schedule.due`. Times that were missed while nothing ran come as one delivery; the next time counts from now. */
  async due({ extensionId, name, at }: TopicMap['schedule.due'], { signal, correlationId }: Delivery): Promise<void> {
    if (extensionId !== this.ports.id) return;
    const known = await this.store.get(name);
    if (known === null) return; // cancelled
    if (known.nextAt === at) {
      // Plans the next run first, so that the schedule survives a failure of this one. Armed twice, it wakes twice and runs once.
      const nextAt = known.cron === null ? null : this.#next(known, this.ports.clock.now());
      await this.arm({ ...known, nextAt }, correlationId);
      await this.store.change(name, (each) =>
        each.nextAt === at ? { ...each, nextAt, open: [...each.open, at].slice(-MOST_OPEN) } : each,
      );
    }
    await this.#work(name, at, correlationId, signal);
  }

  /** A time later than the second one from now was planned while the clock was ahead; the first may have run already. */
  async correct(correlationId: string): Promise<void> {
    const now = this.ports.clock.now();
    for (const schedule of await this.store.list(null)) {
      if (schedule.cron === null) continue;
      const first = this.#next(schedule, now);
      const second = first === null ? null : this.#next(schedule, first);
      const { id, nextAt } = schedule;
      if (second === null || nextAt === null || nextAt <= second) continue;
      await this.arm({ ...schedule, nextAt: first }, correlationId);
      await this.store.change(id, (each) => (each.nextAt === nextAt ? { ...each, nextAt: first } : each));
    }
  }

  /** One delivery of `approval.answered`: a run that waited for it continues. */
  async answered({ threadId }: TopicMap['approval.answered'], { signal, correlationId }: Delivery): Promise<void> {
    const run = runOf(threadId);
    if (run !== null) await this.#work(run.id, run.at, correlationId, signal);
  }

  async #work(id: string, at: number, correlationId: string, signal: AbortSignal): Promise<void> {
    const schedule = await this.store.get(id);
    if (schedule === null || !schedule.open.includes(at)) return;
    const end = await this.#run(schedule, at, correlationId, signal);
    signal.throwIfAborted(); // the event is delivered again, and the run continues then
    if (end.reason === 'error' && end.error?.code === 'thread_busy') return this.#lookAgain(id, at, correlationId);
    await this.#notify(schedule, at, correlationId, end);
    if (end.reason === 'awaiting_approval') return;
    const closed = (each: Schedule): Schedule => ({
      ...each,
      open: each.open.filter((other) => other !== at),
      last: { at, reason: end.reason },
    });
    await this.store.change(id, (each) => (each.cron === null ? null : closed(each)));
  }

  /** Another process continues this run: its outcome is read later, by the key of its turn. */
  async #lookAgain(name: string, at: number, correlationId: string): Promise<void> {
    const { events, id: extensionId, clock } = this.ports;
    const options = { at: clock.now() + BUSY_MS, key: `${extensionId}/${name}`, correlationId };
    await events.publish('schedule.due', { v: 1, extensionId, name, at }, options);
  }

  async #run(schedule: Schedule, at: number, correlationId: string, signal: AbortSignal): Promise<End> {
    const { agentId: agent, message: input, by, policy } = schedule;
    const threadId = threadOf(schedule, at);
    const who = { channelId: by.channel, userId: by.user };
    const request = { agent, input, threadId, ...who, key: threadId, policy: this.#narrowed(policy), correlationId };
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
    const notice = { v: 1, text: said, kind: 'schedule', target: null, threadId: by.thread, userId: by.user } as const;
    await this.ports.events.publish('notify', notice, { key: threadOf({ id }, at), correlationId });
  }

  #next({ cron, timeZone }: Schedule, after: number): number | null {
    const next = nextRun(String(cron), String(timeZone), after);
    return typeof next === 'number' ? next : null;
  }
}
