import { Cron } from 'croner';
import { messageOf } from 'pith';
import { spanOf } from '@pith/command-line';

/** A time, or why there is none, as the end of a sentence. */
export type Time = number | { readonly problem: string };

const LONGEST_MS = 366 * 86_400_000;

/** A moment with its zone, such as `2026-03-01T09:00:00+01:00` or `…Z`. */
export function momentOf(text: string, now: number): Time {
  const at = /T.*(?:Z|[+-]\d\d:?\d\d)$/.test(text.trim()) ? Date.parse(text.trim()) : NaN;
  if (Number.isNaN(at)) return { problem: `'${text}' is not a time with its zone, such as 2026-03-01T09:00:00Z` };
  return within(at, text, now);
}

/** A span from now, such as `10m`, `2h` or `3d`. */
export function afterSpan(text: string, now: number): Time {
  const span = spanOf(text);
  return span === null ? { problem: `'${text}' is not a span such as 90s, 10m, 2h or 3d` } : within(now + span, text, now);
}

/** The first time after `after` at which five cron fields are due in a time zone. Hours that the clock skips or repeats count once. */
export function nextRun(cron: string, timeZone: string, after: number): Time {
  if (cron.trim().split(/\s+/).length !== 5 || cron.trim().startsWith('@'))
    return { problem: `'${cron}' must have five fields: minute hour day month weekday` };
  try {
    const next = new Cron(cron, { mode: '5-part', paused: true, timezone: timeZone }).nextRun(new Date(after));
    return next === null ? { problem: `'${cron}' never comes due` } : next.getTime();
  } catch (error) {
    return { problem: `'${cron}' is not a schedule in ${timeZone}: ${messageOf(error)}` };
  }
}

export function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false; // it throws for unknown names
  }
}

export function localTimeZone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

function within(at: number, text: string, now: number): Time {
  if (at <= now) return { problem: `'${text}' is over` };
  return at - now > LONGEST_MS ? { problem: `'${text}' is more than a year away` } : Math.ceil(at);
}
