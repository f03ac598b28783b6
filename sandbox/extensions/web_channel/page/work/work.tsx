import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { Awaited } from '../parts/awaited.tsx';
import { Problem } from '../parts/problem.tsx';
import { Table } from '../parts/table.tsx';
import { address, followLink, parts } from '../router.ts';
import type { SavedSkill } from '../saved/saved-skill.ts';
import { type ApiError, ask } from '../server/api.ts';
import type { ServerEvent } from '../server/events.ts';
import { concerns, together, useLoaded } from '../server/loaded.ts';
import {
  type Ending,
  type Job,
  jobRow,
  type Row,
  type Run,
  runRow,
  savedScheduleRow,
  type Schedule,
  scheduleRow,
  type Task,
  taskRow,
} from './rows.ts';
import { TaskPage } from './task-page.tsx';
import { logLink, threadLink } from './thread-link.ts';
import { TimelinePage } from './timeline-page.tsx';

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
/** Each run moves the next time. */
const ofTimetables = (event: ServerEvent): boolean => ofJobs(event) || concerns('schedule')(event);
/** Extensions whose work has lines of its own here: their jobs are the same things again. */
const SHOWN_OTHERWISE = ['task_engine', 'saved_skills', 'scheduler'];
const OTHER_JOBS = SHOWN_OTHERWISE.map((id) => `&without=${id}`).join('');

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
  const kind = useSignal('');
  const ofKind = kind.value === 'job' ? '' : OTHER_JOBS;
  const [jobs, againJobs] = useLoaded<{ readonly jobs: readonly Job[] }>(`/api/jobs?limit=100${ofKind}`, ofJobs);
  const [schedules, againSchedules] = useLoaded<readonly Schedule[]>('/api/schedules', concerns('schedule'));
  const [timetables, againTimetables] = useLoaded<{ readonly saved: readonly SavedSkill[] }>(
    '/api/saved?scheduled=true&limit=100',
    ofTimetables,
  );
  const [questions] = useLoaded<{ readonly approvals: readonly Question[] }>('/api/approvals', concerns('approval'));
  const isOpenOnly = useSignal(false);
  const error = useSignal<ApiError | null>(null);
  const again = (): void => {
    for (const each of [againTasks, againRuns, againJobs, againSchedules, againTimetables]) void each();
  };
  const rows = [
    ...(tasks.value.value?.tasks ?? []).map(taskRow),
    ...(runs.value.value?.runs ?? []).map(runRow),
    ...(jobs.value.value?.jobs ?? []).map(jobRow),
    ...(schedules.value.value ?? []).map(scheduleRow),
    ...(timetables.value.value?.saved ?? []).map(savedScheduleRow),
  ]
    .filter((row) => (kind.value === '' || row.kind === kind.value) && (!isOpenOnly.value || row.end !== null))
    .toSorted((a, b) => b.at - a.at);
  const end = async ({ method, path, body }: Ending): Promise<void> => {
    error.value = null;
    await ask(method, path, body).catch((wrong: unknown) => (error.value = wrong as ApiError));
    again();
  };
  const awaited = together([tasks.value, runs.value, jobs.value, schedules.value, timetables.value, questions.value]);
  const open = questions.value.value?.approvals ?? [];
  return (
    <main class="view">
      <h1>Work</h1>
      <Problem error={error.value} />
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
      <Awaited of={awaited} />
      {rows.length === 0 ? (
        awaited.value !== null && <p class="muted">Nothing is under way.</p>
      ) : (
        <Rows rows={rows} end={(request) => void end(request)} />
      )}
    </main>
  );
}

function Rows({ rows, end }: { readonly rows: readonly Row[]; end(request: Ending): void }): VNode {
  return (
    <Table label="Work" columns={['Kind', 'What', 'State', 'When', 'Who']} action="End it">
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
            {row.why !== null && <Why row={row} why={row.why} />}
          </td>
          <td class={row.why === null || row.kind === 'schedule' ? '' : 'bad'}>{row.state}</td>
          <td>{row.at === 0 ? '' : new Date(row.at).toLocaleString()}</td>
          <td>{row.who}</td>
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

/** Why something failed, and where its reader may read more. */
function Why({ row: { what, who, thread, log }, why }: { readonly row: Row; readonly why: string }): VNode {
  const more = thread === null ? logLink(log) : threadLink(thread, who);
  return (
    <div class="bad long">
      {why}
      {more !== null && (
        <>
          {' '}
          <a href={more.href} onClick={followLink} aria-label={`${more.text} of ${what}`}>
            {more.text}
          </a>
        </>
      )}
    </div>
  );
}
