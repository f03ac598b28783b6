import { localZone } from '@pith/cron-times';
import { type Logger, messageOf } from '../contract/index.ts';
import type { JobCall, JobHandlers } from '../kernel/index.ts';
import { DONE, kernelJob, PUBLISH_TICK } from './jobs/index.ts';
import type { Journal } from './sqlite-journal.ts';

export interface SchedulesOptions {
  readonly journal: Pick<Journal, 'publishTick' | 'endFormer'>;
  readonly logger: Logger;
  /** The schedules of all enabled extensions. */
  declared: JobHandlers['schedules'];
}

type Tick = Record<'extensionId' | 'name' | 'handler', string> & { readonly at: number };

const SIDE_BY_SIDE = 16;

/** Publishes `schedule.due` at each tick of a schedule that names a handler. */
export function createSchedules({ journal, logger, declared }: SchedulesOptions) {
  async function publish({ id, fence, payload }: JobCall) {
    const { at, handler, ...schedule } = payload as Tick;
    const name = nameOf(schedule);
    const tick = { job: { id, fence }, name, handler: `${schedule.extensionId}/${handler}`, at };
    await journal.publishTick(tick, { v: 1, ...schedule, at });
    return DONE;
  }

  return {
    job: kernelJob(PUBLISH_TICK, SIDE_BY_SIDE, publish),
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

function nameOf({ extensionId, name }: Pick<Tick, 'extensionId' | 'name'>): string {
  return `${extensionId}/${name}`;
}
