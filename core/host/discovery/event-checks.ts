import { DURABLE_TOPICS, TOPICS } from '../../contract/events.ts';
import type { Manifest } from '../../contract/index.ts';
import { didYouMean } from '../../contract/nearest.ts';
import { cronProblem } from '../../events/cron.ts';

type Add = (key: string, code: string, message: string, cure: string) => void;

/** True when something calls the class by its handlers. */
export function hears({ events, schedules }: Manifest): boolean {
  return events.handles.length + schedules.length > 0;
}

/** What is wrong with the topics, times and handlers that a manifest names. */
export function eventChecks(manifest: Manifest, add: Add): void {
  const { events, schedules, entrypoint } = manifest;
  if (hears(manifest) && entrypoint === undefined) {
    const key = events.handles.length > 0 ? 'events.handles' : 'schedules';
    add(key, 'manifest_invalid', `'${key}' needs an entrypoint`, `Add 'entrypoint: main.ts' or remove '${key}'`);
  }
  events.publishes.forEach((topic, index) => checkTopic(`events.publishes.${index}`, topic, TOPICS, 'topic', add));
  events.handles.forEach(({ topic }, index) => checkTopic(`events.handles.${index}.topic`, topic, DURABLE_TOPICS, 'durable topic', add));
  const names = new Set<string>();
  schedules.forEach(({ name, cron }, index) => {
    const problem = cronProblem(cron);
    if (problem !== null) {
      const cure = "Write minute, hour, day, month and weekday, such as '0 3 * * *'";
      add(`schedules.${index}.cron`, 'manifest_invalid', `'${cron}' ${problem}`, cure);
    }
    if (names.has(name)) add(`schedules.${index}.name`, 'manifest_invalid', `there are two schedules '${name}'`, 'Rename one of them');
    names.add(name);
  });
}

function checkTopic(key: string, topic: string, known: readonly string[], what: string, add: Add): void {
  if (known.includes(topic)) return;
  const hint = didYouMean(topic, known);
  add(key, 'name_unknown', `there is no ${what} '${topic}'${hint}`, hint === '' ? `Use one of: ${known.join(', ')}` : 'Correct the name');
}
