import { referenceOf, type SavedSkill } from '../saved/saved-skill.ts';
import { placeOf } from '../things.ts';

/** What ends something. */
export interface Ending {
  readonly method: 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly body?: object;
}

/** A line of the table of work. */
export interface Row {
  readonly kind: 'task' | 'run' | 'job' | 'schedule';
  readonly id: string;
  readonly what: string;
  readonly state: string;
  /** Why it failed; null: it did not, as far as is known. */
  readonly why: string | null;
  /** Empty: nobody's. */
  readonly who: string;
  /** 0: it is not known when. */
  readonly at: number;
  readonly href: string | null;
  /** Where it works or worked, of which `why` is the end; null: it has not begun. */
  readonly thread: string | null;
  /** The extension whose log says more; null: its thread does. */
  readonly log: string | null;
  /** null: it has ended. */
  readonly end: Ending | null;
}

export interface Task {
  readonly id: string;
  readonly state: string;
  readonly goal: string;
  readonly user?: string;
  readonly thread?: string | null;
  readonly error?: { readonly message: string } | null;
  readonly updatedAt?: number;
  readonly startedAt?: number;
}

export interface Run {
  readonly id: string;
  readonly skill: string;
  readonly state: string;
  readonly user: string;
  readonly queued_at: number;
  readonly started_at: number | null;
  readonly ended_at: number | null;
  readonly error: { readonly message: string } | null;
  readonly delivery: string;
  readonly delivery_error: string | null;
  readonly thread: string;
}

export interface Job {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly owner: string | null;
  readonly times: { readonly made: number };
  readonly open: boolean;
  readonly error: { readonly message: string } | null;
}

export interface Schedule {
  readonly schedule_id: string;
  readonly message: string;
  readonly user: string;
  readonly next: string | null;
  readonly last?: { readonly reason: string; readonly error?: string };
  readonly last_thread: string | null;
}

const ENDED = ['done', 'failed', 'cancelled', 'ended'];

/** Work without a thread is a command in the background, of which its list says all. */
export function taskRow({ id, state, goal, user = '', thread = null, error = null, updatedAt, startedAt }: Task): Row {
  return {
    ...EMPTY,
    kind: 'task',
    id,
    what: goal,
    state,
    why: error?.message ?? null,
    who: user,
    at: updatedAt ?? startedAt ?? 0,
    href: thread === null ? null : hrefOf('task', id),
    thread,
    end: ENDED.includes(state) ? null : cancelOf('tasks', id),
  };
}

export function runRow(run: Run): Row {
  const { id, skill, state, user, queued_at: at, started_at: began, ended_at: ended, error, delivery, thread } = run;
  const isUndelivered = delivery === 'failed';
  return {
    ...EMPTY,
    kind: 'run',
    id,
    what: skill,
    state: isUndelivered ? `${state}, not delivered` : state,
    why: error?.message ?? (isUndelivered ? run.delivery_error : null),
    who: user,
    at,
    href: hrefOf('run', id),
    thread: began === null ? null : thread,
    end: ended === null ? cancelOf('runs', id) : null,
  };
}

export function jobRow({ id, name, state, owner, times, error, open }: Job): Row {
  return {
    ...EMPTY,
    kind: 'job',
    id,
    what: name,
    state,
    why: error?.message ?? null,
    who: owner ?? '',
    at: times.made,
    log: name.slice(0, name.indexOf('.')),
    end: open ? cancelOf('jobs', id) : null,
  };
}

/** `last`: what came of it when it ran last. */
export function scheduleRow({ schedule_id: id, message, user, next, last, last_thread: thread }: Schedule): Row {
  return {
    ...EMPTY,
    kind: 'schedule',
    id,
    what: message,
    state: next === null ? 'due' : 'waits',
    why: last?.error === undefined ? null : `last time: ${last.error}`,
    who: user,
    at: next === null ? 0 : Date.parse(next),
    thread,
    end: { method: 'DELETE', path: `/api/schedules/${encodeURIComponent(id)}` },
  };
}

/** Its runs have lines of their own. */
export function savedScheduleRow(skill: SavedSkill): Row {
  const reference = referenceOf(skill);
  return {
    ...EMPTY,
    kind: 'schedule',
    id: skill.id,
    what: `${reference} (${skill.schedule})`,
    state: skill.next_run_at === null ? 'never' : 'waits',
    who: skill.owner_id ?? 'local',
    at: skill.next_run_at ?? 0,
    href: hrefOf('saved', reference),
    end: { method: 'PUT', path: `/api/saved/${encodeURIComponent(reference)}/schedule`, body: { cron: 'off' } },
  };
}

const EMPTY = { why: null, href: null, thread: null, log: null } as const;

function hrefOf(kind: string, id: string): string | null {
  return placeOf({ kind, id })?.href ?? null;
}

function cancelOf(kind: string, id: string): Ending {
  return { method: 'POST', path: `/api/${kind}/${encodeURIComponent(id)}/cancel` };
}
