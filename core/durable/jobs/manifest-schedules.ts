import { type Clock, type Logger, messageOf } from '../../contract/index.ts';
import type { JobHandlers } from '../../kernel/index.ts';
import type { JobStore, ScheduleRow } from './port.ts';
import { nextTick } from './timetables.ts';

export interface ManifestSchedulesOptions {
  readonly store: Pick<JobStore, 'schedules' | 'putSchedule' | 'removeSchedule'>;
  readonly handlers: Pick<JobHandlers, 'declared' | 'schedules'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Keeps a timetable for each schedule of a manifest that names a job. */
export function createManifestSchedules({ store, handlers, clock, logger }: ManifestSchedulesOptions) {
  let working: Promise<void> = Promise.resolve();

  async function renew(): Promise<void> {
    const wanted = handlers.schedules().flatMap((schedule) => rowOf(schedule, handlers, clock.now()));
    const known = (await store.schedules()).filter(({ id }) => id.includes(MARK));
    for (const { id } of known) if (!wanted.some((row) => row.id === id)) await store.removeSchedule(id);
    for (const row of wanted) if (!known.some((each) => specOf(each) === specOf(row))) await store.putSchedule(row);
  }

  return {
    /** Manifests may have changed. Never rejects. */
    renew: (): Promise<void> =>
      (working = working.then(renew).catch((error: unknown) => {
        logger.warn('the timetables of manifests could not be kept', { error: messageOf(error) });
      })),
    renewed: () => working,
  };
}

/** No id that code gives has it after its extension's. */
const MARK = '.manifest/';

function rowOf(
  { extensionId, name, cron, job }: ReturnType<JobHandlers['schedules']>[number],
  handlers: Pick<JobHandlers, 'declared'>,
  now: number,
): readonly ScheduleRow[] {
  const fullName = `${extensionId}.${job}`;
  const declared = handlers.declared().get(fullName);
  if (!declared) return [];
  const { version, attempts } = declared;
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return [
    {
      id: `${extensionId}${MARK}${name}`,
      cron,
      zone,
      job: { name: fullName, version, payload: '{}', mostAttempts: attempts, tells: true },
      missed: 'once',
      within: null,
      next: nextTick(cron, zone, now),
    },
  ];
}

function specOf({ id, cron, zone, job }: ScheduleRow): string {
  return JSON.stringify([id, cron, zone, job.name, job.version, job.mostAttempts]);
}
