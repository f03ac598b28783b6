import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { Awaited } from '../parts/awaited.tsx';
import { More } from '../parts/more.tsx';
import { confirmed } from '../parts/confirm.tsx';
import { Problem } from '../parts/problem.tsx';
import { Table } from '../parts/table.tsx';
import { address, followLink, parts } from '../router.ts';
import type { SavedSkill } from '../saved/saved-skill.ts';
import { type ApiError, ask } from '../server/api.ts';
import type { ServerEvent } from '../server/events.ts';
import { joined, type List, useList } from '../server/list.ts';
import { concerns, together, useLoaded } from '../server/loaded.ts';
import { ofJobs, ofWorkIn } from './changes.ts';
import { type Job, jobRow, type Row, type Run, runRow, savedScheduleRow, type Schedule, scheduleRow, type Task, taskRow } from './rows.ts';
import { TaskPage } from './task-page.tsx';
import { logLink, threadLink } from './thread-link.ts';
import { TimelinePage } from './timeline-page.tsx';

interface Question {
  readonly id: string;
  readonly summary: string;
  readonly threadId: string;
}

const ofTasks = ofWorkIn('tasks');
const ofRuns = ofWorkIn('runs');
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
  const kind = useSignal('');
  const isOpenOnly = useSignal(false);
  const asked = (of: Row['kind'], place: string): string | null =>
    kind.value === '' || kind.value === of ? `/api/${place}${isOpenOnly.value && of !== 'schedule' ? '&open=true' : ''}` : null;
  const all = joined<Row>([
    rowsOf(useList<Task>(asked('task', 'tasks?'), 'tasks', ofTasks), taskRow),
    rowsOf(useList<Run>(asked('run', 'runs?'), 'runs', ofRuns), runRow),
    rowsOf(useList<Job>(asked('job', `jobs?${kind.value === 'job' ? '' : OTHER_JOBS}`), 'jobs', ofJobs), jobRow),
    rowsOf(useList<Schedule>(asked('schedule', 'schedules?'), 'schedules', concerns('schedule')), scheduleRow),
    rowsOf(useList<SavedSkill>(asked('schedule', 'saved?scheduled=true'), 'saved', ofTimetables), savedScheduleRow),
  ]);
  const [questions] = useLoaded<{ readonly approvals: readonly Question[] }>('/api/approvals', concerns('approval'));
  const error = useSignal<ApiError | null>(null);
  const rows = all.rows.toSorted((a, b) => b.at - a.at);
  const end = async ({ kind, what, end: ending }: Row): Promise<void> => {
    if (ending === null) return;
    if (kind === 'schedule' && !(await confirmed(`Delete the schedule of '${what}'?`))) return;
    const { method, path, body } = ending;
    error.value = null;
    await ask(method, path, body).catch((wrong: unknown) => (error.value = wrong as ApiError));
    all.again();
  };
  const awaited = together([all, questions.value]);
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
          Open work only
        </label>
      </div>
      <Awaited of={awaited} />
      {rows.length === 0 ? (
        awaited.value !== null && <p class="muted">There is no work to show.</p>
      ) : (
        <Rows rows={rows} end={(row) => void end(row)} />
      )}
      <More list={all} />
    </main>
  );
}

function rowsOf<T>(list: List<T>, rowOf: (of: T) => Row): List<Row> {
  return { ...list, rows: list.rows.map(rowOf) };
}

function Rows({ rows, end }: { readonly rows: readonly Row[]; end(row: Row): void }): VNode {
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
              <button type="button" class="quiet" aria-label={`${endOf(row)} ${row.what}`} onClick={() => end(row)}>
                {endOf(row)}
              </button>
            )}
          </td>
        </tr>
      ))}
    </Table>
  );
}

/** What ends it, in a word. */
function endOf({ kind }: Row): string {
  return kind === 'schedule' ? 'Delete' : 'Cancel';
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
