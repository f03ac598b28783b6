import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { Markdown } from '../parts/markdown.tsx';
import { Awaited } from '../parts/awaited.tsx';
import { Problem } from '../parts/problem.tsx';
import { address, followLink } from '../router.ts';
import { type ApiError, ask } from '../server/api.ts';
import { useLoaded } from '../server/loaded.ts';
import { mayAnswer } from '../server/session.ts';
import { ofWorkIn } from './changes.ts';
import { ThreadLink, ThreadTimeline } from './of-thread.tsx';

interface Task {
  readonly id: string;
  readonly state: string;
  readonly goal: string;
  readonly agent: string;
  readonly note: string | null;
  readonly question: string | null;
  readonly result: string | null;
  readonly error: { readonly message: string } | null;
  readonly parent: string | null;
  readonly thread: string;
  readonly user: string;
  readonly subtasks: readonly string[];
  readonly history: readonly { readonly at: number; readonly state: string; readonly note: string | null }[];
}

const ENDED = ['done', 'failed', 'cancelled'];

/** One task: what it asks, what came of it, and what it did when. */
export function TaskPage({ id }: { readonly id: string }): VNode {
  const path = `/api/tasks/${encodeURIComponent(id)}`;
  const [loaded, again] = useLoaded<Task>(path, ofWorkIn(`tasks/${id}`));
  const [error, setError] = useState<ApiError | null>(null);
  const task = loaded.value.value;
  if (task === null)
    return (
      <main class="view">
        <Awaited of={loaded.value} />
      </main>
    );
  const act = async (what: string, body: object = {}): Promise<void> => {
    setError(null);
    await ask('POST', `${path}/${what}`, body, what === 'review' ? loaded.value.tag : null).catch((wrong: unknown) =>
      setError(wrong as ApiError),
    );
    again();
  };
  const { state, goal, agent, note, question, result, subtasks, history, thread, user } = task;
  return (
    <main class="view">
      <p>
        <a href="/work" onClick={followLink}>
          Work
        </a>
        {task.parent !== null && (
          <>
            {' · '}
            <TaskLink id={task.parent} text="the task above" />
          </>
        )}
      </p>
      <h1>Task</h1>
      <p class="pre">{goal}</p>
      <div class="row">
        <span class={`chip ${state === 'done' ? 'good' : state === 'failed' ? 'bad' : ''}`} role="status">
          {state}
        </span>
        <span class="muted">
          {agent}
          {note !== null && ` · ${note}`}
        </span>
        {!ENDED.includes(state) && (
          <button type="button" onClick={() => void act('cancel')}>
            Cancel
          </button>
        )}
        {(state === 'failed' || state === 'cancelled') && (
          <button type="button" onClick={() => void act('retry')}>
            Try again
          </button>
        )}
      </div>
      <Problem error={error} />
      {question !== null && <Answer id={id} question={question} answer={(text) => void act('review', { answer: [text] })} />}
      {task.error !== null && <p role="alert">{task.error.message}</p>}
      {result !== null && <Markdown text={result} />}
      {subtasks.length > 0 && (
        <p>
          Subtasks:{' '}
          {subtasks.map((each, at) => (
            <span key={each}>
              {at > 0 && ', '}
              <TaskLink id={each} text={each} />
            </span>
          ))}
        </p>
      )}
      <ThreadLink thread={thread} owner={user} />
      <ThreadTimeline thread={thread} />
      <details>
        <summary>States</summary>
        <ol>
          {history.map(({ at, state: then, note: of }, index) => (
            <li key={index}>
              <span class="muted">{new Date(at).toLocaleString()}</span> {then}
              {of !== null && `: ${of}`}
            </li>
          ))}
        </ol>
      </details>
    </main>
  );
}

function TaskLink({ id, text }: { readonly id: string; readonly text: string }): VNode {
  return (
    <a href={address('work/tasks', id)} onClick={followLink}>
      {text}
    </a>
  );
}

interface AnswerProps {
  readonly id: string;
  readonly question: string;
  answer(text: string): void;
}

function Answer({ id, question, answer }: AnswerProps): VNode {
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const text = String(new FormData(event.currentTarget as HTMLFormElement).get('answer') ?? '').trim();
    if (text !== '') answer(text);
  };
  if (!mayAnswer())
    return (
      <section class="question">
        <p class="pre">{question}</p>
        <p>
          This session may not answer. In a terminal: <code>pith tasks review {id} ANSWER</code>
        </p>
      </section>
    );
  return (
    <form class="question" onSubmit={submit}>
      <p class="pre">{question}</p>
      <div class="row">
        <input class="wide" name="answer" aria-label="Your answer" required />
        <button type="submit" class="main">
          Answer
        </button>
      </div>
    </form>
  );
}
