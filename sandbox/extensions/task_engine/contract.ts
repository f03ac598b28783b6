import { defineProtocol, method, defineTopic } from 'pith';

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

/** Work of this process that is no task and that people look at beside them, such as a command in the background. It ends with Pith. */
export interface RunningWork {
  /** Never the id of a task. */
  readonly id: string;
  /** One line. */
  readonly title: string;
  readonly startedAt: number;
  /** null while it runs. */
  readonly ended: string | null;
  readonly output: string;
}

export interface WorkProvider {
  listWork(): Promise<readonly RunningWork[]>;
  /** Ends it, and resolves with how it ended; null: there is none of that id. */
  endWork(id: string): Promise<RunningWork | null>;
}

export const WorkProvider = defineProtocol<WorkProvider>('tasks.work', {
  listWork: method(),
  endWork: method(),
});
