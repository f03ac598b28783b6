import { ChannelProvider, type Clock, codeOf, type Delivery, type Diagnostic, messageOf } from '../contract/index.ts';
import { type Bus, CHANNELS_HANDLER, type Host } from '../kernel/index.ts';
import type { Leases } from '../store/index.ts';
import { createDeliveries } from './deliveries.ts';
import type { KernelJobs } from './jobs/index.ts';
import { createNotices, type NoticesOptions } from './notices.ts';
import type { Journal, WrittenEvent } from './sqlite-journal.ts';
import { startSpan, traced, type Span, underTraceparent } from '@pith/genai-spans';

interface EventServicesOptions extends Pick<NoticesOptions, 'question'> {
  readonly journal: Journal;
  readonly leases: Leases;
  /** Jobs were added or resumed. */
  wake(): void;
  readonly clock: Clock;
  readonly events: Pick<Bus, 'handle'>;
  readonly host: Pick<Host, 'handlers' | 'jobs' | 'providers' | 'extensions' | 'logger'>;
}

export type EventServices = ReturnType<typeof createEventServices>;

/** How often channels are tried that do not report when they open. */
const TRY_CHANNELS_MS = 30_000;
const MOST_NOTES = 20;

/** What a serving kernel does with the journal: deliveries, schedules, and notices to people. */
export function createEventServices(options: EventServicesOptions) {
  const { journal, leases, clock, events, host, question, wake } = options;
  const logger = host.logger('events');
  const notices = createNotices({
    journal,
    clock,
    logger,
    handler: CHANNELS_HANDLER,
    channels: () => host.providers.running(ChannelProvider),
    question,
  });
  const endFormer = (): void =>
    void journal
      .endFormer(host.jobs.schedules())
      .catch((error: unknown) => logger.warn('schedules that are gone may run once more', { error: messageOf(error) }));
  const deliveries = createDeliveries({
    rows: journal.deliveries,
    leases,
    clock,
    logger,
    declared: () => host.handlers.declared(),
    callable: () => (notices.reachable ? new Set([CHANNELS_HANDLER, ...host.handlers.callable()]) : host.handlers.callable()),
    sideBySide: (handler) => (handler === CHANNELS_HANDLER ? 1 : 16),
    async call(handler, { payload, traceparent }, delivery, signal) {
      const call = () =>
        handler === CHANNELS_HANDLER ? notices.deliver(payload, delivery, signal) : host.handlers.call(handler, payload, delivery, signal);
      return underTraceparent(traceparent, () => traced(spanOf(handler, delivery), call, (error) => codeOf(error, 'handler_failed')));
    },
  });
  let offs: (() => void)[] | null = null;
  let cancel: (() => void) | undefined;

  function opened(greetsNow: boolean): void {
    notices.opened(greetsNow);
    if (notices.reachable) wake();
  }

  function tryChannels(): void {
    if (!notices.reachable) opened(false);
    cancel = clock.after(TRY_CHANNELS_MS, tryChannels);
  }

  const jobs: KernelJobs = {
    jobs: () => new Map([journal.tickJob, ...deliveries.jobs()]),
    changed: () => deliveries.wake(),
    repair: deliveries.repair,
    tidy: () => deliveries.tidy(),
  };

  return {
    jobs,
    start(): void {
      offs = [
        events.handle('channel.opened', () => opened(true)),
        host.extensions.onChange(() => {
          deliveries.wake();
          endFormer();
        }),
      ];
      cancel = clock.after(TRY_CHANNELS_MS, tryChannels); // a channel that opens now is greeted first
      endFormer();
    },
    stop(): void {
      for (const off of offs ?? []) off();
      cancel?.();
      offs = null;
    },
    /** Call for each event that this process wrote. */
    written({ handlers }: WrittenEvent): void {
      if (offs === null || handlers.length === 0) return; // without services another process delivers
      deliveries.wake(handlers);
      wake();
    },
    /** Dead letters, and deliveries that wait for missing handlers. */
    async notes(): Promise<readonly Diagnostic[]> {
      const dead = journal.deliveries.deadLetters(MOST_NOTES).map(({ handler, event, topic, error }): Diagnostic => ({
        severity: 'warning',
        code: 'handler_failed',
        message: `event ${event} (${topic}) could not be delivered to '${handler}' after 8 attempts: ${error}`,
        cure: 'correct the handler; events that come later are delivered',
      }));
      const gone = journal.deliveries.orphans(host.handlers.declared()).map(({ handler, count }): Diagnostic => ({
        severity: 'warning',
        code: 'handler_failed',
        message: `${count} ${count === 1 ? 'event waits' : 'events wait'} for '${handler}', which no enabled extension declares any more`,
        cure: 'bring the handler back within 7 days, or leave them: they are forgotten then',
      }));
      return [...dead, ...gone];
    },
  };
}

function spanOf(handler: string, { id, topic, attempt, correlationId }: Omit<Delivery, 'signal'>): Span {
  return startSpan({
    operation: 'process',
    correlationId,
    attributes: {
      'messaging.destination.name': topic,
      'messaging.message.id': id,
      'pith.handler': handler,
      'pith.attempt': attempt,
    },
  });
}
