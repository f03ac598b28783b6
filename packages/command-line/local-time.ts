/** A time in the local time zone, to the minute: `14:05` on the day of `now`, else `2026-11-23 14:05`. */
export function localTime(at: number, now?: number): string {
  const then = new Date(at);
  const time = `${two(then.getHours())}:${two(then.getMinutes())}`;
  if (now !== undefined && then.toDateString() === new Date(now).toDateString()) return time;
  return `${then.getFullYear()}-${two(then.getMonth() + 1)}-${two(then.getDate())} ${time}`;
}

function two(number: number): string {
  return String(number).padStart(2, '0');
}
