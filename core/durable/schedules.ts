import { localZone } from '@pith/cron-times';
import { type Logger, messageOf } from '../contract/index.ts';
import type { EventHandlers, JobCall } from '../kernel/index.ts';
import { DONE, kernelJob, type KernelJobs, NEVER } from './jobs/index.ts';
import type { Journal } from './sqlite-journal.ts';

type DeclaredSchedule = ReturnType<EventHandlers['schedules']>[number];

export interface SchedulesOptions {
  readonly journal: Pick<Journal, 'publishTick' | 'endFormer'>;
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
    const tick = { job: { id, fence }, name, handler: `${schedule.extensionId}/${handler}`, at };
    await journal.publishTick(tick, { v: 1, ...schedule, at });
    return DONE;
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
      await journal
        .endFormer(new Map(specs))
        .catch((error: unknown) => logger.warn('schedules that are gone may run once more', { error: messageOf(error) }));
    },
  };
}

function nameOf({ extensionId, name }: Pick<DeclaredSchedule, 'extensionId' | 'name'>): string {
  return `${extensionId}/${name}`;
}
