import { ChannelProvider, type Clock, type Delivery, type Diagnostic } from '../contract/index.ts';
import { CHANNELS_HANDLER, Postponed, type Bus, type Host } from '../kernel/index.ts';
import type { Leases } from '../store/index.ts';
import { createDeliveries } from './deliveries.ts';
import type { WrittenEvent } from './journal.ts';
import { createNotices, type NoticesOptions } from './notices.ts';
import { createSchedules } from './schedules.ts';
import type { SqliteJournal } from './sqlite-journal.ts';
import { startSpan, within, type Span } from './spans.ts';

interface EventServicesOptions extends Pick<NoticesOptions, 'question'> {
  readonly journal: SqliteJournal;
  readonly leases: Leases;
  readonly clock: Clock;
  readonly events: Pick<Bus, 'handle'>;
  readonly host: Pick<Host, 'handlers' | 'providers' | 'extensions' | 'logger'>;
}

/** What a serving kernel does with the journal: deliveries, schedules, and notices to people. */
export interface EventServices {
  start(): void;
  stop(): Promise<void>;
  /** Call for each event that this process wrote. */
  written(event: WrittenEvent): void;
  /** Dead letters, and deliveries that wait for missing handlers. */
  notes(): Promise<readonly Diagnostic[]>;
}

const GRACE_MS = 3000;
/** How often channels are tried that do not report when they open. */
const TRY_CHANNELS_MS = 30_000;
const MOST_NOTES = 20;

export function createEventServices(options: EventServicesOptions): EventServices {
  const { journal, leases, clock, events, host, question } = options;
  const logger = host.logger('events');
  const notices = createNotices({
    journal,
    clock,
    logger,
    handler: CHANNELS_HANDLER,
    channels: () => host.providers.running(ChannelProvider),
    question,
  });
  const schedules = createSchedules({ journal, clock, logger, declared: () => host.handlers.schedules() });
  let triedAt = 0;
  const deliveries = createDeliveries({
    journal,
    leases,
    clock,
    logger,
    declared: () => host.handlers.declared(),
    callable: () => (notices.reachable ? new Set([CHANNELS_HANDLER, ...host.handlers.callable()]) : host.handlers.callable()),
    sideBySide: (handler) => (handler === CHANNELS_HANDLER ? 1 : 16),
    async call(handler, payload, delivery, signal) {
      const span = spanOf(handler, delivery);
      if (handler !== CHANNELS_HANDLER) return within(span, () => host.handlers.call(handler, payload, delivery, signal));
      try {
        await within(span, () => notices.deliver(payload, delivery, signal));
      } catch (error) {
        if (!notices.reachable && error instanceof Postponed) setImmediate(() => deliveries.refresh());
        throw error;
      }
    },
    looked() {
      schedules.look();
      if (notices.reachable || clock.now() - triedAt < TRY_CHANNELS_MS) return;
      triedAt = clock.now();
      notices.opened(false);
      if (notices.reachable) deliveries.refresh();
    },
  });
  const offs: (() => void)[] = [];

  return {
    start() {
      offs.push(
        events.handle('channel.opened', () => {
          notices.opened(true);
          deliveries.refresh();
        }),
        host.extensions.onChange(() => {
          deliveries.refresh();
          schedules.refresh();
        }),
      );
      triedAt = clock.now(); // a channel that opens now is greeted first
      deliveries.start();
      schedules.refresh();
    },
    async stop() {
      for (const off of offs.splice(0)) off();
      await deliveries.stop(GRACE_MS);
    },
    written: ({ handlers }) => deliveries.wake(handlers),
    async notes() {
      const dead = (await journal.events.deadLetters(MOST_NOTES)).map(({ handler, event, topic, error }): Diagnostic => ({
        severity: 'warning',
        code: 'handler_failed',
        message: `event ${event} (${topic}) could not be delivered to '${handler}' after 8 attempts: ${error}`,
        cure: 'correct the handler; events that come later are delivered',
      }));
      const gone = (await journal.events.orphans(host.handlers.declared())).map(({ handler, count }): Diagnostic => ({
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
    name: `process ${topic}`,
    kind: 'consumer',
    correlationId,
    attributes: {
      'messaging.operation.type': 'process',
      'messaging.destination.name': topic,
      'messaging.message.id': id,
      'pith.handler': handler,
      'pith.attempt': attempt,
    },
  });
}
