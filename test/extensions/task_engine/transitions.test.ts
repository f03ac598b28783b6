import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hasEnded, TASK_STATES, type Task } from '../../../sandbox/extensions/task_engine/task.ts';
import { advance, awaitsApproval, type TaskEvent, type TurnOutcome } from '../../../sandbox/extensions/task_engine/transitions.ts';
import { newTask } from './task-values.ts';

const outcome: fc.Arbitrary<TurnOutcome> = fc.record({
  reason: fc.constantFrom('done', 'limit', 'aborted', 'error', 'awaiting_approval'),
  text: fc.string(),
  error: fc.record({
    code: fc.constantFrom('model_unreachable', 'model_auth', 'thread_busy', 'interrupted', 'internal'),
    message: fc.string(),
  }),
  outOfSteps: fc.boolean(),
});
const subtask = fc.record({
  id: fc.string(),
  goal: fc.string(),
  state: fc.constantFrom('done' as const, 'failed' as const, 'cancelled' as const),
  result: fc.option(fc.string()),
  error: fc.constant(null),
  note: fc.constant(null),
});
const event: fc.Arbitrary<TaskEvent> = fc.oneof(
  fc.constantFrom<TaskEvent>(
    { type: 'unblocked' },
    { type: 'claimed', job: 'its' },
    { type: 'claimed', job: 'another' },
    { type: 'died', error: { code: 'lost', message: 'the process died' } },
    { type: 'interrupted' },
    { type: 'abandoned', why: 'x' },
    { type: 'cancelled', why: 'x' },
    { type: 'review_requested', question: 'which?' },
    { type: 'reviewed', answer: 'that one' },
    { type: 'completed', result: '42' },
  ),
  fc.boolean().map((blocked): TaskEvent => ({ type: 'retried', blocked })),
  fc.record({ type: fc.constant('progressed' as const), steps: fc.nat(30), retained: fc.array(fc.string()) }),
  fc.record({ type: fc.constant('subtasks_ended' as const), endedSubtasks: fc.array(subtask) }),
  fc.record({ type: fc.constant('turn_ended' as const), outcome, openSubtasks: fc.nat(2), endedSubtasks: fc.array(subtask) }),
);

/** Plays events; those that do not fit are left out, as the store leaves them out. */
function play(task: Task, events: readonly TaskEvent[], seen?: (before: Task, event: TaskEvent, after: Task) => void): Task {
  let now = task;
  for (const each of events) {
    const after = advance(now, each);
    if (after === null) continue;
    seen?.(now, each, after);
    now = after;
  }
  return now;
}

const turnEnded = (more: Partial<TurnOutcome>, open = 0): TaskEvent => ({
  type: 'turn_ended',
  outcome: { reason: 'done', text: 'the answer', outOfSteps: false, ...more },
  openSubtasks: open,
  endedSubtasks: [],
});
const claimed: TaskEvent = { type: 'claimed', job: 'its' };
const task = (more: Partial<Task> = {}) => newTask({ job: 'its', ...more });

describe('the state machine of tasks', () => {
  it('K91: whatever happens, an ended task moves only when a person retries it; a new turn has a message, a wait a time, an end a result or a reason', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 40 }), (events) => {
        const broken: string[] = [];
        play(task(), events, (before, each, after) => {
          if (!TASK_STATES.includes(after.state)) broken.push(`the state ${after.state}`);
          if (hasEnded(before) && each.type !== 'retried') broken.push(`${each.type} moved what was ${before.state}`);
          if (before.state === 'done') broken.push('what is done went on');
          if (after.turn < before.turn || after.turn > before.turn + 1) broken.push(`turn ${before.turn} led to ${after.turn}`);
          if (after.turn > before.turn && after.steps > 0 && after.message === null) broken.push('a turn without its task');
          if (after.waitMs !== null && after.state !== 'retry_scheduled' && after.state !== 'human_review')
            broken.push(`${after.state} waits ${after.waitMs}`);
          if (after.state === 'human_review' && !awaitsApproval(after) && after.question === null)
            broken.push('a review without a question');
          if (after.state === 'done' && after.result === null) broken.push('done without a result');
          if (after.state === 'failed' && after.error === null) broken.push('failed without a reason');
        });
        expect(broken).toEqual([]);
      }),
    );
  });

  it('K91 J11: how often is for its job to count; a busy thread is no failure, nor is a provider that takes no requests', () => {
    const ended = (code: string) => turnEnded({ reason: 'error', error: { code, message: 'no' } });
    const busy = play(task(), [claimed, ended('thread_busy')]);
    expect(busy).toMatchObject({ state: 'retry_scheduled', attempts: 0, waitMs: 1_000 });
    expect(play(busy, [claimed, ended('model_rate_limited')])).toMatchObject({ state: 'retry_scheduled', attempts: 0, waitMs: null });
    const failed = play(busy, [claimed, ended('model_unreachable'), claimed, ended('model_unreachable')]);
    expect(failed).toMatchObject({ state: 'retry_scheduled', attempts: 2, turn: 0, waitMs: null });
    const died: TaskEvent = { type: 'died', error: { code: 'model_unreachable', message: 'no' } };
    expect(advance(failed, died)).toMatchObject({ state: 'failed', error: { code: 'model_unreachable', message: 'no (2 attempts)' } });
  });

  it('J9 K91: a task whose job died has failed, and no other job moves it', () => {
    const died: TaskEvent = { type: 'died', error: { code: 'lost', message: 'the process died 3 times during it' } };
    expect(advance(task(), { type: 'claimed', job: 'another' })).toBeNull();
    expect(advance(play(task(), [claimed]), died)).toMatchObject({ state: 'failed', error: { code: 'lost' } });
    expect(advance(play(task(), [claimed, turnEnded({}, 2)]), died)).toBeNull(); // it waits, and has none
  });

  it('K91: a failure that another attempt cannot mend is not tried again', () => {
    const end = play(task(), [claimed, turnEnded({ reason: 'error', error: { code: 'agent_unknown', message: 'no' } })]);
    expect(end).toMatchObject({ state: 'failed', error: { code: 'agent_unknown' } });
  });

  it('K91: reaching the steps is failed, not done', () => {
    const end = play(task({ maxSteps: 3 }), [claimed, turnEnded({ reason: 'limit', text: 'so far', outOfSteps: true })]);
    expect(end).toMatchObject({ state: 'failed', error: { code: 'step_limit' }, result: null });
  });

  it('K91: a turn that was stopped or failed is continued under its own key; one after a wait for others is a new one', () => {
    expect(play(task(), [claimed, { type: 'interrupted' }])).toMatchObject({ state: 'pending', turn: 0 });
    const waiting = play(task(), [claimed, turnEnded({}, 2)]);
    expect(waiting).toMatchObject({ state: 'waiting_subtasks', turn: 0 });
    const ended: TaskEvent = {
      type: 'subtasks_ended',
      endedSubtasks: [{ id: 'sub', goal: 'half', state: 'done', result: 'seven', error: null, note: null }],
    };
    expect(advance(waiting, ended)).toMatchObject({ state: 'pending', turn: 1, message: expect.stringContaining('seven') });
  });

  it('K91: what waits for an approval is no question: no answer in words ends it', () => {
    const waiting = play(task(), [claimed, turnEnded({ reason: 'awaiting_approval' })]);
    expect(waiting.state).toBe('human_review');
    expect(advance(waiting, { type: 'reviewed', answer: 'yes' })).toBeNull();
    expect(advance(waiting, claimed)).toMatchObject({ state: 'running', turn: 0 });
  });

  it('K90: what the worker gave to complete_task is the result, also when the turn then ends otherwise', () => {
    const marked: TaskEvent = { type: 'completed', result: '42' };
    for (const reason of ['done', 'limit', 'error'] as const)
      expect(play(task(), [claimed, marked, turnEnded({ reason, text: 'bye' })])).toMatchObject({ state: 'done', result: '42' });
    expect(play(task(), [claimed, turnEnded({ text: 'the text' })])).toMatchObject({ state: 'done', result: 'the text' });
  });
});
