import { type Signal, useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { Problem } from '../parts/problem.tsx';
import { Table } from '../parts/table.tsx';
import { address, followLink, parts } from '../router.ts';
import { type ApiError, ask } from '../server/api.ts';
import type { ServerEvent } from '../server/events.ts';
import { concerns, type Loaded, useLoaded } from '../server/loaded.ts';
import { placeOf } from '../things.ts';
import { TaskPage } from './task-page.tsx';
import { TimelinePage } from './timeline-page.tsx';

interface Row {
  readonly kind: string;
  readonly id: string;
  readonly what: string;
  readonly state: string;
  readonly at: number;
  readonly href: string | null;
  /** The request that ends it; null: it has ended. */
  readonly end: { readonly method: 'POST' | 'DELETE'; readonly path: string } | null;
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

const ofJobs = concerns('job');
/** Tasks and runs wait as jobs, and work in threads of these names. */
const workOf =
  (kind: string) =>
  (event: ServerEvent): boolean =>
    ofJobs(event) || (event.data['kind'] === 'thread' && String(event.data['id']).startsWith(`${kind}/`));
const ofTasks = workOf('tasks');
const ofRuns = workOf('runs');
const ENDED = ['done', 'failed', 'cancelled', 'dead', 'ended'];

/** What goes on, one task, or what a conversation did when. */
export function Work(): VNode {
  const [, part, ...rest] = parts.value;
  const id = rest.join('/');
  if (id !== '' && part === 'tasks') return <TaskPage key={id} id={id} />;
  if (id !== '' && part === 'timeline') return <TimelinePage key={id} threadId={id} />;
  return <Overview />;
}

/** What goes on, and what waits for a person. */
function Overview(): VNode {
  const [tasks, againTasks] = useLoaded<{ readonly tasks: readonly Task[] }>('/api/tasks?limit=100', ofTasks);
  const [runs, againRuns] = useLoaded<{ readonly runs: readonly Run[] }>('/api/runs?limit=100', ofRuns);
  const [jobs, againJobs] = useLoaded<{ readonly jobs: readonly Job[] }>('/api/jobs?limit=100', ofJobs);
  const [schedules, againSchedules] = useLoaded<readonly Schedule[]>('/api/schedules', concerns('schedule'));
  const [questions] = useLoaded<{ readonly approvals: readonly Question[] }>('/api/approvals', concerns('approval'));
  const kind = useSignal('');
  const isOpenOnly = useSignal(false);
  const error = useSignal<ApiError | null>(null);
  const again = (): void => {
    for (const each of [againTasks, againRuns, againJobs, againSchedules]) each();
  };
  const rows = [
    ...(tasks.value.value?.tasks ?? []).map(taskRow),
    ...(runs.value.value?.runs ?? []).map(runRow),
    ...(jobs.value.value?.jobs ?? []).map(jobRow),
    ...(schedules.value.value ?? []).map(scheduleRow),
  ]
    .filter((row) => (kind.value === '' || row.kind === kind.value) && (!isOpenOnly.value || row.end !== null))
    .toSorted((a, b) => b.at - a.at);
  const end = async ({ method, path }: NonNullable<Row['end']>): Promise<void> => {
    error.value = null;
    await ask(method, path).catch((wrong: unknown) => (error.value = wrong as ApiError));
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
                <a href={address('chat', threadId)} onClick={followLink}>
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
        lists.every((list) => list.value.value !== null) && <p class="muted">Nothing is under way.</p>
      ) : (
        <Rows rows={rows} end={(request) => void end(request)} />
      )}
    </main>
  );
}

function Rows({ rows, end }: { readonly rows: readonly Row[]; end(request: NonNullable<Row['end']>): void }): VNode {
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
            {row.end !== null && (
              <button type="button" class="quiet" aria-label={`End ${row.what}`} onClick={() => row.end !== null && end(row.end)}>
                End
              </button>
            )}
          </td>
        </tr>
      ))}
    </Table>
  );
}

function cancelOf(kind: string, id: string): Row['end'] {
  return { method: 'POST', path: `/api/${kind}/${encodeURIComponent(id)}/cancel` };
}

/** Work without a thread is a command in the background, of which its list says all. */
function taskRow({ id, state, goal, thread, updatedAt, startedAt }: Task): Row {
  const end = ENDED.includes(state) ? null : cancelOf('tasks', id);
  const href = thread === undefined ? null : (placeOf({ kind: 'task', id })?.href ?? null);
  return { kind: 'task', id, what: goal, state, at: updatedAt ?? startedAt ?? 0, href, end };
}

function runRow({ id, skill, state, queued_at: at, ended_at: ended }: Run): Row {
  const end = ended === null ? cancelOf('runs', id) : null;
  return { kind: 'run', id, what: skill, state, at, href: placeOf({ kind: 'run', id })?.href ?? null, end };
}

function jobRow({ id, name, state, times, error }: Job): Row {
  const end = ENDED.includes(state) ? null : cancelOf('jobs', id);
  return { kind: 'job', id, what: error === null ? name : `${name}: ${error.message}`, state, at: times.made, href: null, end };
}

function scheduleRow({ schedule_id: id, message, next }: Schedule): Row {
  return {
    kind: 'schedule',
    id,
    what: message,
    state: next === null ? 'due' : 'waits',
    at: next === null ? 0 : Date.parse(next),
    href: null,
    end: { method: 'DELETE', path: `/api/schedules/${encodeURIComponent(id)}` },
  };
}
