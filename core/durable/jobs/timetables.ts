import { nextCronTime } from '@pith/cron-times';
import { type JsonValue, messageOf } from '../../contract/index.ts';
import type { ScheduleRow, Tick } from './port.ts';
import { PLAIN_JOB } from './row.ts';

/** A tick that is later than this was missed: as long as the shortest time between two. */
export const MISSED_MS = 60_000;

/** null: none is left. Throws for a timetable that cannot be read. */
function nextTick(cron: string, zone: string, after: number): number | null {
  const next = nextCronTime(cron, zone, after);
  if (typeof next === 'number') return next;
  if (next.isNever) return null;
  throw new Error(next.problem);
}

export interface DueTicks {
  readonly ticks: readonly Tick[];
  /** When the next tick is due; `Infinity`: none. */
  readonly next: number;
  /** Timetables that cannot be read any more, and have ended. */
  readonly broken: readonly { readonly schedule: string; readonly why: string }[];
}

/** What timetables make at this time. All ticks that were missed are one. `isSetBack`: the clock may have been ahead when they were planned. */
export function ticksDue(
  rows: readonly ScheduleRow[],
  { now, isSetBack }: { readonly now: number; readonly isSetBack: boolean },
  newId: () => string,
): DueTicks {
  const ticks: Tick[] = [];
  const broken: { readonly schedule: string; readonly why: string }[] = [];
  let next = Infinity;
  for (const row of rows) {
    if (row.next === null) continue;
    try {
      const tick = row.next <= now ? tickOf(row, row.next, now, newId) : isSetBack ? correction(row, row.next, now) : null;
      if (tick !== null) ticks.push(tick);
      next = Math.min(next, (tick === null ? row.next : tick.next) ?? Infinity);
    } catch (error) {
      ticks.push({ schedule: row.id, due: row.next, next: null, job: null });
      broken.push({ schedule: row.id, why: messageOf(error) });
    }
  }
  return { ticks, next, broken };
}

function tickOf(row: ScheduleRow, due: number, now: number, newId: () => string): Tick {
  const { id, cron, zone, missed, within } = row;
  const following = nextTick(cron, zone, due);
  const isOne = following === null || following > now;
  const at = isOne ? due : lastTick(row, following, now);
  const next = isOne ? following : nextTick(cron, zone, now);
  const isMissed = now - at > MISSED_MS;
  const skipped =
    isMissed && missed === 'skip'
      ? 'its time was missed'
      : within !== null && now - at > within
        ? `it was late by more than ${within} ms`
        : null;
  const job = { ...jobOf(row, at, newId()), late: isMissed || !isOne, skipped };
  return { schedule: id, due, next, job };
}

/**
 * A tick later than the second from now was planned while the clock was ahead. The first may have run already: by the clock's time, or
 * because another process planned the next. null: it may stay.
 */
function correction({ id, cron, zone }: ScheduleRow, due: number, now: number): Tick | null {
  const first = nextTick(cron, zone, now);
  const second = first === null ? null : nextTick(cron, zone, first);
  return second !== null && due > second ? { schedule: id, due, next: first, job: null } : null;
}

/** The last tick until now, of which one is known; found by halves, as there may be a million. */
function lastTick({ cron, zone }: ScheduleRow, known: number, now: number): number {
  let last = known;
  for (let before = now; before - last > 1;) {
    const middle = Math.floor((last + before) / 2);
    const tick = nextTick(cron, zone, middle) ?? Infinity;
    if (tick <= now) last = tick;
    else before = middle;
  }
  return last;
}

function jobOf({ id, job }: ScheduleRow, at: number, newId: string): Omit<NonNullable<Tick['job']>, 'late' | 'skipped'> {
  return {
    ...PLAIN_JOB,
    ...job,
    id: newId,
    payload: withTime(job.payload, at),
    sequence: id,
    unique: id,
    onOpen: 'replace',
  };
}

function withTime(payload: string, at: number): string {
  const value: JsonValue = JSON.parse(payload);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return payload;
  return JSON.stringify({ ...value, at });
}
