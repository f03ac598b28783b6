import { fieldsOf } from '@pith/cron-times';
import { codeOf, type ExtensionContext, type Job, type Logger, messageOf } from 'pith';
import type { SavedSkill } from '../domain/saved-skill.ts';
import type { SkillStore } from '../store/skill-store.ts';
import type { LaneRules } from './lanes.ts';
import type { NewRun, RunStore } from './run-store.ts';

export interface SchedulePorts {
  readonly skills: SkillStore;
  readonly runs: RunStore;
  readonly jobs: Pick<ExtensionContext['jobs'], 'schedule'>;
  readonly clock: { now(): number };
  readonly logger: Pick<Logger, 'warn'>;
  /** The run of a tick; rejects where the skill cannot run without inputs. */
  readonly runOf: (skill: SavedSkill, runId: string) => Promise<NewRun>;
  readonly laneRules: (lane: string) => LaneRules;
}

type Planned = Pick<SavedSkill, 'id' | 'schedule' | 'time_zone'>;

/** Has a skill run by its timetable, or no longer. */
export async function plan(jobs: SchedulePorts['jobs'], { id, schedule, time_zone: zone }: Planned): Promise<void> {
  if (schedule === null) return jobs.schedule(id, null);
  await jobs.schedule(id, { cron: fieldsOf(schedule), ...(zone === null ? {} : { zone }), name: 'tick', payload: { skill: id } });
}

/** Plans what timetables say: another version of Pith may have saved them, or a process ended before it had planned them. */
export async function planAll({ skills, jobs, logger }: SchedulePorts): Promise<void> {
  for (const skill of await skills.all())
    if (skill.schedule !== null)
      await plan(jobs, skill).catch((error: unknown) => {
        if (codeOf(error, '') !== 'parameter_invalid') throw error;
        const cure = `pith saved schedule ${skill.name} …`;
        logger.warn('a saved skill no longer runs by itself: its timetable cannot be read', {
          skill: skill.name,
          reason: messageOf(error),
          cure,
        });
      });
}

/** Queues the run of a tick, whose id is that of the tick's job: it is queued once. */
export async function tick(
  { skills, runs, jobs, clock, logger, runOf, laneRules }: SchedulePorts,
  job: Job<{ skill: string }>,
): Promise<void> {
  const { skill: id } = job.payload;
  const found = await skills.byId(id);
  if (found === null || found.skill.schedule === null) return jobs.schedule(id, null);
  const { skill } = found;
  const change = { last_scheduled_run_at: clock.now() };
  try {
    const run = await runOf(skill, job.id);
    await runs.arrive(run, laneRules(run.lane), (db) => [skills.changing(db, found, change)]);
  } catch (error) {
    if (['write_conflict', 'database_failed'].includes(codeOf(error, ''))) throw error; // it is tried again
    logger.warn('a scheduled run could not be queued', { skill: skill.name, reason: messageOf(error) });
    await skills.update(found, change); // the tick is over all the same
  }
}
