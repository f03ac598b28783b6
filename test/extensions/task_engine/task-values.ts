import type { Task } from '../../../sandbox/extensions/task_engine/task.ts';

/** A task as it is right after it was submitted. */
export function newTask(more: Partial<Task> = {}): Task {
  return {
    id: 'abcdefghij',
    goal: 'count the stars',
    agent: 'worker',
    state: 'pending',
    note: null,
    priority: 0,
    maxSteps: null,
    stepsBefore: 0,
    steps: 0,
    attempts: 0,
    turn: 0,
    message: null,
    waitMs: null,
    completed: null,
    result: null,
    error: null,
    question: null,
    parent: null,
    depth: 0,
    chain: null,
    after: [],
    retained: [],
    received: [],
    told: false,
    submitter: { userId: 'local', channelId: 'cli', threadId: 'talk', agentId: 'orchestrator', person: true, correlationId: 'c' },
    tools: null,
    denied: [],
    startedBy: [],
    job: null,
    createdAt: 0,
    updatedAt: 0,
    ...more,
  };
}
