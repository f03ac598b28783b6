export { createEventServices, type EventServices } from './event-services.ts';
export { NO_SPAN, type Span, startSpan } from './spans.ts';
export { createSqliteJournal, type SqliteJournal } from './sqlite-journal.ts';
