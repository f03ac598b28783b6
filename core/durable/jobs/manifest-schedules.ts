import { localZone, nextCronTime } from '@pith/cron-times';
import type { JobHandlers } from '../../kernel/index.ts';
import type { ManifestSchedule } from './kernel-jobs.ts';
import type { JobStore, ScheduleRow } from './port.ts';

/** Keeps a timetable for each schedule of a manifest, and those of manifests, or for jobs, that cannot be read now: their next tick stays. */
export async function keepSchedules(
  store: JobStore,
  schedules: readonly ManifestSchedule[],
  handlers: Pick<JobHandlers, 'schedules' | 'unread'>,
  now: number,
): Promise<void> {
  const wanted = schedules.map((schedule) => rowOf(schedule, now));
  const known = (await store.schedules()).filter(({ id }) => OF_MANIFEST.test(id));
  const unread = handlers.unread();
  const stay = new Set([...wanted.map(({ id }) => id), ...handlers.schedules().map(({ extensionId, name }) => `${extensionId}/${name}`)]);
  for (const { id } of known) if (!stay.has(id) && !unread.has(id.slice(0, id.indexOf('/')))) await store.removeSchedule(id);
  for (const row of wanted) if (!known.some((each) => specOf(each) === specOf(row))) await store.putSchedule(row);
}

/** What code gives has a dot after the id of its extension. */
const OF_MANIFEST = /^[^./]+\//;

/** Those that name a job of their extension. */
export function schedulesOf(handlers: Pick<JobHandlers, 'declared' | 'schedules'>): readonly ManifestSchedule[] {
  const declared = handlers.declared();
  return handlers.schedules().flatMap(({ extensionId, name, cron, job }) => {
    const fullName = `${extensionId}.${job}`;
    const known = declared.get(fullName);
    if (!known) return [];
    const { version, attempts } = known;
    return [{ extensionId, name, cron, job: { name: fullName, version, payload: '{}', mostAttempts: attempts, tells: true } }];
  });
}

function rowOf({ extensionId, name, cron, job }: ManifestSchedule, now: number): ScheduleRow {
  const zone = localZone();
  const next = nextCronTime(cron, zone, now);
  const due = typeof next === 'number' ? next : null; // its manifest says why
  return { id: `${extensionId}/${name}`, cron, zone, job, missed: 'once', within: null, next: due };
}

function specOf({ id, cron, zone, job }: ScheduleRow): string {
  return JSON.stringify([id, cron, zone, job.name, job.version, job.payload, job.mostAttempts]);
}
