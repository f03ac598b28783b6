import { type Signal, useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { useOften } from '../parts/often.ts';
import { Problem } from '../parts/problem.tsx';
import { Table } from '../parts/table.tsx';
import { followLink, place } from '../router.ts';
import { type ApiError, ask } from '../server/api.ts';
import type { ServerEvent } from '../server/events.ts';
import { type Loaded, useLoaded } from '../server/loaded.ts';
import { TaskPage } from './task-page.tsx';
import { TimelinePage } from './timeline-page.tsx';

interface Row {
  readonly kind: string;
  readonly id: string;
  readonly what: string;
  readonly state: string;
  readonly at: number;
  readonly href: string | null;
  /** The path that ends it; null: it has ended, or cannot be ended here. */
  readonly cancel: string | null;
}

interface Task {
  readonly id: string;
  readonly state: string;
  readonly goal: string;
  readonly thread?: string;
  readonly updatedAt?: number;
  readonly startedAt?: number;
}

interface Run {
  readonly id: string;
  readonly skill: string;
  readonly state: string;
  readonly queued_at: number;
  readonly ended_at: number | null;
}

interface Job {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly times: { readonly made: number };
  readonly error: { readonly message: string } | null;
}

interface Schedule {
  readonly schedule_id: string;
  readonly message: string;
  readonly next: string | null;
}

interface Question {
  readonly id: string;
  readonly summary: string;
  readonly threadId: string;
}

const never = (): boolean => false;
/** Tasks and runs work in threads of these names. */
const isOf =
  (kind: string) =>
  ({ data }: ServerEvent): boolean =>
    data['kind'] === 'thread' && String(data['id']).startsWith(`${kind}/`);
const ENDED = ['done', 'failed', 'cancelled', 'dead', 'ended'];

/** What goes on, one task, or what a conversation did when. */
export function Work(): VNode {
  const [, , part, ...rest] = place.value.split('/');
  const id = decodeURIComponent(rest.join('/'));
  if (id !== '' && part === 'tasks') return <TaskPage key={id} id={id} />;
  if (id !== '' && part === 'timeline') return <TimelinePage key={id} threadId={id} />;
  return <Overview />;
}

/** What goes on, and what waits for a person. */
function Overview(): VNode {
  const [tasks, againTasks] = useLoaded<{ readonly tasks: readonly Task[] }>('/api/tasks?limit=100', isOf('tasks'));
  const [runs, againRuns] = useLoaded<{ readonly runs: readonly Run[] }>('/api/runs?limit=100', isOf('runs'));
  const [jobs, againJobs] = useLoaded<{ readonly jobs: readonly Job[] }>('/api/jobs?limit=100', never);
  const [schedules, againSchedules] = useLoaded<readonly Schedule[]>('/api/schedules', never);
  const [questions] = useLoaded<{ readonly approvals: readonly Question[] }>('/api/approvals', ({ data }) => data['kind'] === 'approval');
  const kind = useSignal('');
  const isOpenOnly = useSignal(false);
  const error = useSignal<ApiError | null>(null);
  const again = (): void => {
    for (const each of [againTasks, againRuns, againJobs, againSchedules]) each();
  };
  useOften(again, true, 5000); // jobs, schedules and what waits in a queue have no events
  const rows = [
    ...(tasks.value.value?.tasks ?? []).map(taskRow),
    ...(runs.value.value?.runs ?? []).map(runRow),
    ...(jobs.value.value?.jobs ?? []).map(jobRow),
    ...(schedules.value.value ?? []).map(scheduleRow),
  ]
    .filter((row) => (kind.value === '' || row.kind === kind.value) && (!isOpenOnly.value || row.cancel !== null))
    .toSorted((a, b) => b.at - a.at);
  const cancel = async (path: string): Promise<void> => {
    error.value = null;
    await ask('POST', path).catch((wrong: unknown) => (error.value = wrong as ApiError));
    again();
  };
  const lists: readonly Signal<Loaded<unknown>>[] = [tasks, runs, jobs, schedules, questions];
  const open = questions.value.value?.approvals ?? [];
  return (
    <main class="view">
      <h1>Work</h1>
      <Problem error={error.value ?? lists.find((list) => list.value.error !== null)?.value.error ?? null} />
      {open.length > 0 && (
        <section>
          <h2>Waits for you</h2>
          <ul>
            {open.map(({ id, summary, threadId }) => (
              <li key={id}>
                <a href={`/chat/${encodeURIComponent(threadId)}`} onClick={followLink}>
                  {summary}
                </a>
              </li>
            ))}
          </ul>
        </section>
      )}
      <div class="row filters">
        <select aria-label="Kind" value={kind.value} onChange={({ currentTarget }) => (kind.value = currentTarget.value)}>
          <option value="">Kind: all</option>
          {['task', 'run', 'job', 'schedule'].map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
        <label>
          <input type="checkbox" checked={isOpenOnly.value} onChange={({ currentTarget }) => (isOpenOnly.value = currentTarget.checked)} />{' '}
          Only what has not ended
        </label>
      </div>
      {rows.length === 0 ? (
        lists.every((list) => list.value.value !== null) && <p class="muted">Nothing goes on.</p>
      ) : (
        <Rows rows={rows} cancel={(path) => void cancel(path)} />
      )}
    </main>
  );
}

function Rows({ rows, cancel }: { readonly rows: readonly Row[]; cancel(path: string): void }): VNode {
  return (
    <Table label="Work" columns={['Kind', 'What', 'State', 'When']} action="End it">
      {rows.map((row) => (
        <tr key={`${row.kind} ${row.id}`}>
          <td>{row.kind}</td>
          <td>
            {row.href === null ? (
              row.what
            ) : (
              <a href={row.href} onClick={followLink}>
                {row.what}
              </a>
            )}
          </td>
          <td class={row.state === 'dead' || row.state === 'failed' || row.state === 'error' ? 'bad' : ''}>{row.state}</td>
          <td>{row.at === 0 ? '' : new Date(row.at).toLocaleString()}</td>
          <td>
            {row.cancel !== null && (
              <button type="button" class="quiet" aria-label={`End ${row.what}`} onClick={() => cancel(row.cancel as string)}>
                End
              </button>
            )}
          </td>
        </tr>
      ))}
    </Table>
  );
}

/** Work without a thread is a command in the background, of which its list says all. */
function taskRow({ id, state, goal, thread, updatedAt, startedAt }: Task): Row {
  const cancel = ENDED.includes(state) ? null : `/api/tasks/${encodeURIComponent(id)}/cancel`;
  const href = thread === undefined ? null : `/work/tasks/${encodeURIComponent(id)}`;
  return { kind: 'task', id, what: goal, state, at: updatedAt ?? startedAt ?? 0, href, cancel };
}

function runRow({ id, skill, state, queued_at: at, ended_at: ended }: Run): Row {
  const cancel = ended === null ? `/api/runs/${encodeURIComponent(id)}/cancel` : null;
  return { kind: 'run', id, what: skill, state, at, href: `/saved/runs/${encodeURIComponent(id)}`, cancel };
}

function jobRow({ id, name, state, times, error }: Job): Row {
  const cancel = ENDED.includes(state) ? null : `/api/jobs/${encodeURIComponent(id)}/cancel`;
  return { kind: 'job', id, what: error === null ? name : `${name}: ${error.message}`, state, at: times.made, href: null, cancel };
}

function scheduleRow({ schedule_id: id, message, next }: Schedule): Row {
  return {
    kind: 'schedule',
    id,
    what: message,
    state: next === null ? 'due' : 'waits',
    at: next === null ? 0 : Date.parse(next),
    href: null,
    cancel: null,
  };
}
