import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { address, followLink } from '../router.ts';
import { ask, type ApiError } from '../server/api.ts';
import { concerns, useLoaded } from '../server/loaded.ts';
import { Problem } from './problem.tsx';

interface Notice {
  readonly id: string;
  readonly at: string;
  readonly text: string;
  readonly threadId: string | null;
}

const SHOWN = 3;

/** What this person was told outside of conversations, newest first, until they dismiss it. */
export function Notices(): VNode {
  const [loaded] = useLoaded<{ readonly notices: readonly Notice[] }>('/api/notices', concerns('notice'));
  const [error, setError] = useState<ApiError | null>(null);
  const notices = loaded.value.value?.notices ?? [];
  const dismiss = async (ids: readonly string[]): Promise<void> => {
    const ended = await Promise.allSettled(ids.map((id) => ask('DELETE', `/api/notices/${encodeURIComponent(id)}`)));
    setError((ended.find(({ status }) => status === 'rejected') as { readonly reason: ApiError } | undefined)?.reason ?? null);
  };
  return (
    <aside class="notices" aria-label="Notices" aria-live="polite">
      <Problem error={error} />
      {notices.slice(0, SHOWN).map(({ id, at, text, threadId }) => (
        <article key={id} class="notice">
          <p>{text}</p>
          <div class="row">
            <time class="muted" dateTime={at}>
              {new Date(at).toLocaleString()}
            </time>
            {threadId !== null && (
              <a href={address('chat', threadId)} onClick={followLink}>
                Open the conversation
              </a>
            )}
            <button type="button" onClick={() => void dismiss([id])}>
              Dismiss
            </button>
          </div>
        </article>
      ))}
      {notices.length > SHOWN && (
        <button type="button" onClick={() => void dismiss(notices.map(({ id }) => id))}>
          Dismiss all {notices.length}
        </button>
      )}
    </aside>
  );
}
