import { defineTopic } from 'pith';

/** A task is in another state, with what was said of it. */
export interface TaskChanged {
  readonly v: 1;
  readonly taskId: string;
  readonly state: string;
  readonly goal: string;
  readonly threadId: string | null;
  readonly note: string | null;
}

export const taskChanged = defineTopic<TaskChanged>('task.changed', { durable: true });
