import { localZone } from '@pith/cron-times';
import { type Logger, messageOf } from '../contract/index.ts';
import type { EventHandlers, JobCall } from '../kernel/index.ts';
import { kernelJob, type KernelJobs, NEVER } from './jobs/index.ts';
import type { PrepareEvent, ScheduleRows } from './journal.ts';

type DeclaredSchedule = ReturnType<EventHandlers['schedules']>[number];

export interface SchedulesOptions {
  readonly journal: { readonly prepare: PrepareEvent; readonly schedules: ScheduleRows };
  readonly logger: Logger;
  /** The schedules of all enabled extensions that name a handler. */
  declared(): readonly DeclaredSchedule[];
}

const NAME = 'publish schedule.due';
const SIDE_BY_SIDE = 16;

/** Publishes `schedule.due` at each tick of a schedule that names a handler. */
export function createSchedules({ journal, logger, declared }: SchedulesOptions) {
  async function publish({ id, fence, payload }: JobCall) {
    const { at, handler, ...schedule } = payload as unknown as Omit<DeclaredSchedule, 'cron'> & { readonly at: number };
    const name = nameOf(schedule);
    const event = journal.prepare('schedule.due', { v: 1, ...schedule, at }, { key: `schedule ${name}` });
    await journal.schedules.publish({ job: { id, fence }, name, handler: `${schedule.extensionId}/${handler}`, at }, event);
    return { kind: 'done', result: 'null' } as const;
  }

  return {
    job: kernelJob(NAME, SIDE_BY_SIDE, publish),
    schedules: (): ReturnType<KernelJobs['schedules']> =>
      declared().map(({ extensionId, name, cron, handler }) => {
        const payload = JSON.stringify({ extensionId, name, handler });
        return { extensionId, name, cron, job: { name: NAME, version: 1, payload, mostAttempts: NEVER, tells: false } };
      }),
    /** Forgets what an older Pith has planned of schedules that were changed or removed since. Never rejects. */
    async endFormer(): Promise<void> {
      const zone = localZone();
      const specs = declared().map((schedule) => [nameOf(schedule), JSON.stringify([schedule.cron, schedule.handler, zone])] as const);
      await journal.schedules
        .endFormer(new Map(specs))
        .catch((error: unknown) => logger.warn('schedules that are gone may run once more', { error: messageOf(error) }));
    },
  };
}

function nameOf({ extensionId, name }: Pick<DeclaredSchedule, 'extensionId' | 'name'>): string {
  return `${extensionId}/${name}`;
}
