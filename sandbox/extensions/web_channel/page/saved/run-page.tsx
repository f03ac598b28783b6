import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { Markdown } from '../parts/markdown.tsx';
import { Awaited } from '../parts/awaited.tsx';
import { lengthOf } from '../parts/length.ts';
import { Problem } from '../parts/problem.tsx';
import { address, followLink } from '../router.ts';
import { type ApiError, ask } from '../server/api.ts';
import { useLoaded } from '../server/loaded.ts';
import { ofWorkIn } from '../work/changes.ts';
import { threadLink } from '../work/thread-link.ts';
import { Timeline } from '../work/timeline.tsx';
import { hasEnded, type Run } from './saved-skill.ts';

/** One run as it goes on, and what came of it. */
export function RunPage({ id }: { readonly id: string }): VNode {
  const path = `/api/runs/${encodeURIComponent(id)}`;
  const [loaded, again] = useLoaded<Run>(path, ofWorkIn(`runs/${id}`));
  const [error, setError] = useState<ApiError | null>(null);
  const run = loaded.value.value;
  if (run === null)
    return (
      <main class="view">
        <Awaited of={loaded.value} />
      </main>
    );
  const cancel = async (): Promise<void> => {
    await ask('POST', `${path}/cancel`).catch((error: unknown) => setError(error as ApiError));
    again();
  };
  const conversation = run.started_at === null ? null : threadLink(run.thread, run.user);
  const took = run.started_at === null || run.ended_at === null ? null : run.ended_at - run.started_at;
  return (
    <main class="view">
      <p>
        <a href={address('saved/skill', run.skill)} onClick={followLink}>
          {run.skill}
        </a>
      </p>
      <div class="row">
        <h1>Run</h1>
        <span class={`chip ${run.state === 'ok' ? 'good' : run.error === null ? '' : 'bad'}`} role="status">
          {run.state}
        </span>
        <span class="muted">
          {[run.status, of(run.steps, 'step'), of(run.tool_calls, 'call'), took === null ? '' : lengthOf(took)]
            .filter((part) => part !== '')
            .join(' · ')}
        </span>
        {!hasEnded(run) && (
          <button type="button" onClick={() => void cancel()}>
            Cancel
          </button>
        )}
      </div>
      <Problem error={error} />
      {run.error !== null && <p role="alert">{run.error.message}</p>}
      {run.delivery === 'failed' && <p role="alert">Its result was not delivered: {run.delivery_error}</p>}
      {conversation !== null && (
        <p>
          <a href={conversation.href} onClick={followLink}>
            {conversation.text}
          </a>
        </p>
      )}
      {run.output !== null && <Markdown text={run.output} />}
      {(run.steps > 0 || hasEnded(run)) && (
        <section>
          <h2>Timeline</h2>
          <Timeline threadId={run.thread} />
        </section>
      )}
      {(run.history?.length ?? 0) > 0 && (
        <section>
          <h2>Steps</h2>
          <ol>
            {run.history?.map(({ at, what }, index) => (
              <li key={index}>
                <span class="muted">{new Date(at).toLocaleTimeString()}</span> {what}
              </li>
            ))}
          </ol>
        </section>
      )}
    </main>
  );
}

function of(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}
