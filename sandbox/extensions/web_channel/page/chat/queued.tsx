import type { VNode } from 'preact';
import { Problem } from '../parts/problem.tsx';
import { useAttempt } from '../parts/attempt.ts';
import { ask } from '../server/api.ts';
import { concerns, useLoaded } from '../server/loaded.ts';

interface Waiting {
  readonly waiting: readonly { readonly key: string; readonly text: string }[];
}

/** Messages that were sent while the agent answered: they follow its answer, unless their person takes them back. */
export function Queued({ threadId }: { readonly threadId: string }): VNode {
  const path = `/api/threads/${encodeURIComponent(threadId)}/waiting`;
  const [loaded, again] = useLoaded<Waiting>(path, concerns('thread', threadId));
  const { error, isBusy, attempt } = useAttempt(again);
  const takeBack = (key: string): void => void attempt(() => ask('DELETE', `${path}/${encodeURIComponent(key)}`));
  return (
    <>
      {(loaded.value.value?.waiting ?? []).map(({ key, text }) => (
        <article key={key} class="said muted" aria-label="Queued message">
          <div class="pre">{text}</div>
          <button type="button" class="quiet" disabled={isBusy} onClick={() => takeBack(key)}>
            Take back
          </button>
        </article>
      ))}
      <Problem error={error ?? loaded.value.error} />
    </>
  );
}
