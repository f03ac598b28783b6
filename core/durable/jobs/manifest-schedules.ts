import { localZone, nextCronTime } from '@pith/cron-times';
import type { JobHandlers } from '../../kernel/index.ts';
import { PUBLISH_TICK } from './kernel-jobs.ts';
import type { JobStore, ScheduleRow } from './port.ts';
import { NEVER } from './row.ts';

type Declared = Pick<JobHandlers, 'declared' | 'schedules' | 'unread'>;
type ManifestSchedule = ReturnType<JobHandlers['schedules']>[number];

/** Keeps a timetable for each schedule of a manifest, and those of manifests, or for jobs, that cannot be read now: their next tick stays. */
export async function keepSchedules(store: JobStore, handlers: Declared, now: number): Promise<void> {
  const known = (await store.schedules()).filter(({ id }) => OF_MANIFEST.test(id));
  const schedules = handlers.schedules();
  const stay = new Set(schedules.map(idOf));
  const unread = handlers.unread();
  for (const { id } of known) if (!stay.has(id) && !unread.has(id.slice(0, id.indexOf('/')))) await store.removeSchedule(id);
  for (const schedule of schedules) {
    const job = jobOf(schedule, handlers);
    const row = job && rowOf(schedule, job, now);
    if (row && !known.some((each) => specOf(each) === specOf(row))) await store.putSchedule(row);
  }
}

/** What code gives has a dot after the id of its extension. */
const OF_MANIFEST = /^[^./]+\//;

/** What each tick makes: a job of the extension, or one that publishes the event for its handler. null: it has no such job now. */
function jobOf({ extensionId, name, job, handler }: ManifestSchedule, handlers: Declared): ScheduleRow['job'] | null {
  if (job === undefined)
    return { name: PUBLISH_TICK, version: 1, payload: JSON.stringify({ extensionId, name, handler }), mostAttempts: NEVER, tells: false };
  const fullName = `${extensionId}.${job}`;
  const known = handlers.declared().get(fullName);
  return known ? { name: fullName, version: known.version, payload: '{}', mostAttempts: known.attempts, tells: true } : null;
}

function rowOf(schedule: ManifestSchedule, job: ScheduleRow['job'], now: number): ScheduleRow {
  const { cron } = schedule;
  const zone = localZone();
  const next = nextCronTime(cron, zone, now);
  const due = typeof next === 'number' ? next : null; // its manifest says why
  return { id: idOf(schedule), cron, zone, job, missed: 'once', within: null, next: due };
}

function idOf({ extensionId, name }: ManifestSchedule): string {
  return `${extensionId}/${name}`;
}

function specOf({ id, cron, zone, job }: ScheduleRow): string {
  return JSON.stringify([id, cron, zone, job.name, job.version, job.payload, job.mostAttempts]);
}
