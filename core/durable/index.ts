export { createEventServices, type EventServices } from './event-services.ts';
export { createStoppedExtensions, type StoppedExtension, type StoppedExtensions } from './sqlite-stopped.ts';
export { createJournal, type Journal } from './sqlite-journal.ts';
export { createDeliveries } from './deliveries.ts';
export { Delivering } from './delivering.ts';
export * from './jobs/index.ts';
