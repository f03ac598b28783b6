import { carefully, RECORDER, recorded, toldTo } from './careful-model.ts';
import type { User } from './harness.ts';

interface Seen {
  readonly ids: readonly string[];
  readonly open: number;
  readonly log: readonly string[];
  readonly marks: readonly string[];
}

/** What an agent is to do in a moment, in two steps that must be done once. */
export function schedules(each: number): User<Seen> {
  let count = 0;
  const ids = () => Array.from({ length: count }, (_, number) => `soup${number + 1}`);
  return {
    files: RECORDER,
    reply(body) {
      const [, id] = /remember (soup\d+)/.exec(toldTo(body)) ?? [];
      if (id === undefined) return undefined;
      return carefully(body, [[{ name: 'record', input: { note: `${id}-one` } }], [{ name: 'mark', input: { note: `${id}-two` } }]]);
    },
    async begin({ called }) {
      for (let number = 0; number < each; number += 1) await called('schedule_once', { message: `remember soup${(count += 1)}`, in: '1s' });
    },
    async see({ told, sandbox }) {
      const open = (await told<readonly unknown[]>(['tasks', 'schedules', 'list'])).length;
      return { ids: ids(), open, log: recorded(sandbox, 'log', /^soup/), marks: recorded(sandbox, 'marks', /^soup/) };
    },
    isOver: ({ ids: all, open, marks }) => open === 0 && marks.length >= all.length,
    wrong: ({ ids: all, log, marks }) => [
      ...all
        .filter((id) => log.filter((line) => line === `${id}-one`).length !== 1)
        .map((id) => `${id} was not recorded once: ${log.join()}`),
      ...all
        .filter((id) => marks.filter((line) => line === `${id}-two`).length !== 1)
        .map((id) => `${id} was not marked once: ${marks.join()}`),
    ],
  };
}
