import { Cron } from 'croner';

/** The first time after `after` at which `pattern` falls due in the machine's time zone; an hour that the clock skips counts as its end. null: never. */
export function nextRun(pattern: string, after: number): number | null {
  return new Cron(pattern, { mode: '5-part', paused: true }).nextRun(new Date(after))?.getTime() ?? null;
}
