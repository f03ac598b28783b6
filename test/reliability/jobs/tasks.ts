import { carefully, RECORDER, recorded } from './careful-model.ts';
import type { User } from './harness.ts';

const plan = (id: string) => [
  [{ name: 'read_skill', input: { skill_id: 'code-review' } }],
  [{ name: 'record', input: { note: `${id}-one` } }],
  [{ name: 'mark', input: { note: `${id}-two` } }],
  [
    { name: 'record', input: { note: `${id}-three` } },
    { name: 'mark', input: { note: `${id}-four` } },
  ],
  [{ name: 'complete_task', input: { result: `the result of ${id}` } }],
];

/** What `pith tasks show` says. */
interface Shown {
  readonly state: string;
  readonly result: string | null;
  readonly loaded: readonly string[];
  readonly history: readonly { readonly state: string }[];
}

interface Seen extends Omit<Shown, 'history'> {
  readonly id: string;
  readonly history: readonly string[];
  readonly log: readonly string[];
  readonly marks: readonly string[];
}

/** Tasks of several steps, some of which must be done once. */
export function tasks(each: number): User<readonly Seen[]> {
  const ids: string[] = [];
  return {
    files: RECORDER,
    reply(body) {
      const id = /You work on task (\w+)/.exec(JSON.stringify(body.messages[0]))?.[1];
      return id === undefined ? undefined : carefully(body, plan(id));
    },
    async begin({ told }) {
      for (let number = 0; number < each; number += 1)
        ids.push((await told<{ id: string }>(['tasks', 'submit', 'count the stars', '--agent', 'orchestrator'])).id);
    },
    see: ({ told, sandbox }) =>
      Promise.all(
        ids.map(async (id) => {
          const { state, result, loaded, history } = await told<Shown>(['tasks', 'show', id]);
          const lines = { log: recorded(sandbox, 'log', new RegExp(`^${id}-`)), marks: recorded(sandbox, 'marks', new RegExp(`^${id}-`)) };
          return { id, state, result, loaded, history: history.map((change) => change.state), ...lines };
        }),
      ),
    isOver: (seen) => seen.every(({ state }) => state === 'done'),
    wrong: (seen) =>
      seen.flatMap(({ id, result, history, log, marks, loaded }) => [
        ...(result === `the result of ${id}` ? [] : [`task ${id} has the result ${result}`]),
        ...(loaded.includes('code-review') ? [] : [`task ${id} forgot its skill`]),
        ...(history.filter((state) => state === 'done').length === 1 ? [] : [`task ${id} was ${history.join(', ')}`]),
        ...(log.join() === `${id}-one,${id}-three` ? [] : [`task ${id} recorded ${log.join()}`]), // a write is done once
        ...(marks.join() === `${id}-two,${id}-four` ? [] : [`task ${id} marked ${marks.join()}`]), // each with one key, however often it ran
      ]),
  };
}
