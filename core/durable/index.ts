export { createEventServices, type EventServices } from './event-services.ts';
export { createStoppedExtensions, type StoppedExtension, type StoppedExtensions } from './sqlite-stopped.ts';
export { NO_SPAN, type Span, startSpan } from './spans.ts';
export { createSqliteJournal, type SqliteJournal } from './sqlite-journal.ts';
export { createDeliveries } from './deliveries.ts';
export { DeliveryQueue } from './delivery-queue.ts';
export { createSchedules } from './schedules.ts';
export * from './jobs/index.ts';
