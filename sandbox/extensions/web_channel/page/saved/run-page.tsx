import { Fragment, type VNode } from 'preact';
import { useState } from 'preact/hooks';
import { Markdown } from '../parts/markdown.tsx';
import { Awaited } from '../parts/awaited.tsx';
import { lengthOf } from '../parts/length.ts';
import { Problem } from '../parts/problem.tsx';
import { address, followLink } from '../router.ts';
import { type ApiError, ask } from '../server/api.ts';
import { useLoaded } from '../server/loaded.ts';
import { ofWorkIn } from '../work/changes.ts';
import { ThreadLink, ThreadTimeline } from '../work/of-thread.tsx';
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
          {[run.status, of(run.steps, 'step'), of(run.tool_calls, 'call'), took === null ? '' : lengthOf(took)].filter(Boolean).join(' · ')}
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
      {run.started_at !== null && <ThreadLink thread={run.thread} owner={run.user} />}
      <RunInputs inputs={run.inputs} />
      {run.output !== null && (
        <section>
          <h2>Result</h2>
          <Markdown text={run.output} />
        </section>
      )}
      {(run.steps > 0 || hasEnded(run)) && <ThreadTimeline thread={run.thread} />}
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

/** What it was asked with. */
function RunInputs({ inputs }: Pick<Run, 'inputs'>): VNode | null {
  const given = Object.entries(inputs);
  if (given.length === 0) return null;
  return (
    <section>
      <h2>Inputs</h2>
      <dl class="facts">
        {given.map(([name, value]) => (
          <Fragment key={name}>
            <dt>{name}</dt>
            <dd class="pre">{typeof value === 'string' ? value : JSON.stringify(value)}</dd>
          </Fragment>
        ))}
      </dl>
    </section>
  );
}

function of(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}
