import { Cron } from 'croner';
import { messageOf } from '../../contract/errors.ts';

/** Why `pattern` is no schedule of five fields, as the end of a sentence; null when it is one. */
export function cronProblem(pattern: string): string | null {
  const fields = pattern.trim().split(/\s+/).length;
  if (fields !== 5 || pattern.trim().startsWith('@')) return `has ${fields} field${fields === 1 ? '' : 's'}, not five`;
  try {
    return cronOf(pattern).nextRun() === null ? 'never falls due' : null;
  } catch (error) {
    return `is not a schedule: ${messageOf(error).replace(/^CronPattern: /, '')}`;
  }
}

/** The first time after `after` at which `pattern` falls due in the machine's time zone; an hour that the clock skips counts as its end. null: never. */
export function nextRun(pattern: string, after: number): number | null {
  return cronOf(pattern).nextRun(new Date(after))?.getTime() ?? null;
}

function cronOf(pattern: string): Cron {
  return new Cron(pattern, { mode: '5-part', paused: true });
}
