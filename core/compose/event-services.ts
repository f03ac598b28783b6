import type { Clock, Delivery, Diagnostic } from '../contract/index.ts';
import { type Bus, Postponed, CHANNELS_HANDLER, type ExtensionHost } from '../kernel/index.ts';
import { createDeliveries } from '../durable/deliveries.ts';
import { deadLetters } from '../durable/delivery-rows.ts';
import type { Journal, WrittenEvent } from '../durable/journal.ts';
import { orphans } from '../durable/journal-tidy.ts';
import { createNotices } from '../durable/notices.ts';
import { startSpan, within, type Span } from '../durable/spans.ts';
import { createSchedules } from '../durable/schedules.ts';
import { createLeases, sqliteLeaseRows } from '../store/leases.ts';
import type { Store } from '../store/store.ts';
import { stateOfQuestion, type PersonApprovals } from '../agent/index.ts';

export interface EventServicesOptions {
  readonly store: Store;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly host: ExtensionHost;
  readonly events: Bus;
  approvals(): PersonApprovals;
}

/** What a kernel that serves does with the journal: deliveries, schedules, and notices to people. */
export interface EventServices {
  start(): void;
  stop(): Promise<void>;
  /** Told of each event that this process wrote. */
  written(events: readonly WrittenEvent[]): void;
  /** Dead letters, and what waits for handlers that are gone. */
  notes(): readonly Diagnostic[];
}

const GRACE_MS = 3000;
/** Channels that say nothing when they open are tried this often. */
const TRY_CHANNELS_MS = 30_000;
const MOST_NOTES = 20;

export function createEventServices({ store, journal, clock, host, events, approvals }: EventServicesOptions): EventServices {
  const logger = host.logger('events');
  const notices = createNotices({
    store,
    clock,
    logger,
    handler: CHANNELS_HANDLER,
    channels: () => host.channels(),
    question: (id) => stateOfQuestion(id, approvals(), clock),
  });
  const schedules = createSchedules({ store, journal, clock, logger, declared: () => host.handlers.schedules() });
  let triedAt = 0;
  const deliveries = createDeliveries({
    store,
    leases: createLeases(sqliteLeaseRows(store, clock), clock),
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
        host.onChange(() => {
          deliveries.refresh();
          schedules.refresh();
        }),
      );
      triedAt = clock.now(); // who opens a channel now is greeted first
      deliveries.start();
      schedules.refresh();
    },
    async stop() {
      for (const off of offs.splice(0)) off();
      await deliveries.stop(GRACE_MS);
    },
    written(written) {
      deliveries.wake(new Set(written.flatMap(({ handlers }) => handlers)));
    },
    notes() {
      const dead = deadLetters(store, MOST_NOTES).map(({ handler, event, topic, error }): Diagnostic => ({
        severity: 'warning',
        code: 'handler_failed',
        message: `event ${event} (${topic}) could not be delivered to '${handler}' after 8 attempts: ${error}`,
        cure: 'correct the handler; events that come later are delivered',
      }));
      const gone = orphans(store, host.handlers.declared()).map(({ handler, count }): Diagnostic => ({
        severity: 'warning',
        code: 'handler_failed',
        message: `${count} ${count === 1 ? 'event waits' : 'events wait'} for '${handler}', which no enabled extension declares any more`,
        cure: 'Bring the handler back within 7 days, or leave them: they are forgotten then',
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
