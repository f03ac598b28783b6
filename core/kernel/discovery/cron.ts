import { Cron } from 'croner';
import { messageOf } from '../../contract/index.ts';

/** Why `pattern` is no schedule of five fields, as the end of a sentence; null when it is one. */
export function cronProblem(pattern: string): string | null {
  const fields = pattern.trim().split(/\s+/).length;
  if (fields !== 5 || pattern.trim().startsWith('@')) return `has ${fields} field${fields === 1 ? '' : 's'}, not five`;
  try {
    return new Cron(pattern, { mode: '5-part', paused: true }).nextRun() === null ? 'never falls due' : null;
  } catch (error) {
    return `is not a schedule: ${messageOf(error).replace(/^CronPattern: /, '')}`;
  }
}
