import { codeOf, messageOf, type Clock, type Logger, PithError } from 'pith';
import type { SavedSkill } from '../domain/saved-skill.ts';
import type { LaneRules, NewRun, RunStore } from './run-store.ts';
import type { SkillStore } from '../store/skill-store.ts';
import { Cron } from 'croner';

export interface SchedulePorts {
  readonly skills: SkillStore;
  readonly runs: RunStore;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'warn'>;
  /** The run of a tick; rejects where the skill cannot run without inputs. */
  readonly runOf: (skill: SavedSkill) => Promise<NewRun>;
  readonly laneRules: (lane: string) => LaneRules;
}

/** A clock that goes back by more was ahead. */
const SET_BACK_MS = 1000;

/** Queues what timetables say. */
export class DueSchedules {
  /** The time of the last look: at the first one nobody knows whether the clock was ahead before. */
  #seen = Infinity;

  constructor(private readonly ports: SchedulePorts) {}

  /** Queues a run of each skill whose time has come. Each tick is claimed once: its run and the next time are one write. Missed ticks are one. */
  async queue(): Promise<void> {
    const { skills, runs, clock, logger, runOf, laneRules } = this.ports;
    const now = clock.now();
    if (now < this.#seen - SET_BACK_MS) await this.#correct(now);
    this.#seen = now;
    for (const found of await skills.due(now)) {
      const { skill } = found;
      const change = { next_run_at: nextOf(skill, now, logger), last_scheduled_run_at: now };
      await ofOne(async () => {
        const skip = async (why: unknown) => {
          logger.warn('a scheduled run could not be queued', { skill: skill.name, reason: messageOf(why) });
          await skills.update(found, change); // the tick is over all the same
        };
        const run = await runOf(skill).catch(skip);
        if (run === undefined) return;
        await runs
          .arrive(run, laneRules(run.lane), (db) => [skills.changing(db, found, change)])
          .catch((error: unknown) => {
            if (codeOf(error, '') !== 'limit_reached') throw error;
            return skip(error);
          });
      });
    }
  }

  /** What is planned for later than the second time from now was planned while the clock was ahead; the first may have run already. */
  async #correct(now: number): Promise<void> {
    const { skills, logger } = this.ports;
    for (const found of await skills.planned(now)) {
      const { skill } = found;
      const first = nextOf(skill, now, logger);
      const second = first === null ? null : nextOf(skill, first, logger);
      if (second === null || (skill.next_run_at ?? 0) <= second) continue;
      await ofOne(() => skills.update(found, { next_run_at: first }));
    }
  }
}

async function ofOne(work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (codeOf(error, '') !== 'write_conflict') throw error; // another process was faster
  }
}

/** null: it has no more. A time zone that this system does not know ends one timetable, and no other. */
function nextOf({ name, schedule, time_zone }: SavedSkill, now: number, logger: SchedulePorts['logger']): number | null {
  if (schedule === null) return null;
  try {
    return nextTime(schedule, time_zone, now);
  } catch (error) {
    logger.warn('a saved skill no longer runs by itself: its timetable cannot be read', {
      skill: name,
      reason: messageOf(error),
      cure: `pith saved schedule ${name} …`,
    });
    return null;
  }
}

const NICKNAMES: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};

/** The first time after `after` at which a schedule falls due. Throws `schedule_invalid` for one that never does, or more often than each minute. */
export function nextTime(schedule: string, timeZone: string | null, after: number): number {
  const text = schedule.trim();
  const fields = NICKNAMES[text.toLowerCase()] ?? text;
  const refuse = (why: string, cure: string) => new PithError('schedule_invalid', `schedule '${text.slice(0, 80)}' ${why}`, { cure });
  if (fields.startsWith('@')) throw refuse('is unknown', `use five fields, or one of ${Object.keys(NICKNAMES).join(', ')}`);
  if (fields.split(/\s+/).length !== 5) throw refuse('must have five fields', 'write: minute hour day month weekday');
  if (timeZone !== null && !isTimeZone(timeZone))
    throw new PithError('schedule_invalid', `the time zone '${timeZone.slice(0, 80)}' is unknown`, {
      cure: 'write one such as Europe/Rome',
    });
  let next: Date | null;
  try {
    next = new Cron(fields, { mode: '5-part', paused: true, ...(timeZone === null ? {} : { timezone: timeZone }) }).nextRun(
      new Date(after),
    );
  } catch (error) {
    throw refuse(`cannot be read: ${messageOf(error).replace(/^\w+: /, '')}`, 'write: minute hour day month weekday');
  }
  if (next === null) throw refuse('never comes due', 'name a day that its month has');
  return next.getTime();
}

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }) instanceof Intl.DateTimeFormat;
  } catch {
    return false; // how Node says that it does not know it
  }
}
