import type { VNode } from 'preact';
import { Problem } from '../parts/problem.tsx';
import { useAttempt } from '../parts/attempt.ts';
import { concerns, useLoaded } from '../server/loaded.ts';
import type { Conversation } from './conversation.ts';
import type { Waiting } from './shapes.ts';

/** Messages that were sent while the agent answered: they follow its answer, unless their person takes them back. */
export function Queued({ conversation }: { readonly conversation: Conversation }): VNode {
  const { id } = conversation;
  const [loaded, again] = useLoaded<Waiting>(`/api/threads/${encodeURIComponent(id)}/waiting`, concerns('thread', id));
  const { error, isBusy, attempt } = useAttempt(again);
  const takeBack = (key: string): void => void attempt(() => conversation.takeBack(key));
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
