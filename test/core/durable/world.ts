import { onTestFinished } from 'vitest';
import { defineTopic } from 'pith';
import { openProcess } from './open-process.ts';

export type { DeclaredSchedule, Handle } from './open-process.ts';

export type Node = ReturnType<typeof openProcess>;

/** As `openProcess`; it ends with the test. */
export function openNode(...given: Parameters<typeof openProcess>): Node {
  const node = openProcess(...given);
  onTestFinished(node.close);
  return node;
}

export const taskChanged = defineTopic<ReturnType<typeof task>>('task.changed', { durable: true });

export function task(id: string, note: string | null = null) {
  return { v: 1, taskId: id, state: 'running', goal: '', threadId: null, note } as const;
}
