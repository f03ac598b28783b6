import { createHash } from 'node:crypto';
import type { JsonValue, z } from 'pith';
import type { taskResult } from './results.ts';
import { threadOf, type Task } from './task.ts';
import type { TaskChange } from './task-store.ts';

/** A task as `--json` prints it and as tools return it. */
export function taskJson(task: Task): z.infer<ReturnType<typeof taskResult>> {
  const { id, goal, agent, state, note, priority, steps, maxSteps, attempts, result, error, parent, chain, after, retained } = task;
  return {
    id,
    state,
    goal,
    agent,
    note,
    priority,
    steps,
    maxSteps,
    attempts,
    question: state === 'human_review' ? task.question : null,
    result,
    error,
    parent,
    chain,
    after,
    loaded: retained,
    thread: threadOf(id),
    createdAt: task.createdAt,
    updatedAt: task.updatedAt,
  };
}

/** What a list needs to say of a task. */
export function briefJson({ id, state, goal, agent, note }: Task): { [key: string]: JsonValue } {
  return { id, state, goal: cut(goal, 200), agent, note };
}

export function changeJson({ at, state, note }: TaskChange): { [key: string]: JsonValue } {
  return { at, state, note };
}

/** The same id for the same key, so that a call which is repeated after a crash submits nothing twice. */
export function taskIdFor(key: string): string {
  const number = createHash('sha256').update(key).digest().readBigUInt64BE();
  return number.toString(36).padStart(13, '0').slice(-10);
}

export function cut(text: string, most: number): string {
  const line = text.trim().replaceAll(/\s+/g, ' ');
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}
