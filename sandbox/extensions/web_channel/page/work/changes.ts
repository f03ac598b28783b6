import type { ServerEvent } from '../server/events.ts';
import { concerns } from '../server/loaded.ts';

/** A job of somebody whose work this person sees. */
export const ofJobs = concerns('job');

/** This thread, or one below it. */
export const inThread =
  (thread: string) =>
  ({ data: { kind, id } }: ServerEvent): boolean =>
    kind === 'thread' && (id === '' || `${String(id)}/`.startsWith(`${thread}/`));

/** Tasks and runs wait as jobs, and work in threads. */
export const ofWorkIn =
  (thread: string) =>
  (event: ServerEvent): boolean =>
    ofJobs(event) || inThread(thread)(event);
