import { defineTopic } from 'pith';

/** A schedule was made, cancelled or run. */
export interface ScheduleChanged {
  readonly scheduleId: string;
  /** Whose it is. */
  readonly userId: string;
}

export const scheduleChanged = defineTopic<ScheduleChanged>('schedule.changed');
