import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { address, followLink } from '../router.ts';
import { ask, type ApiError } from '../server/api.ts';
import { concerns, useLoaded } from '../server/loaded.ts';
import { Markdown } from './markdown.tsx';
import { Problem } from './problem.tsx';

interface Notice {
  readonly id: string;
  readonly at: string;
  readonly text: string;
  readonly threadId: string | null;
}

/** What this person was told outside of conversations, newest first, until they dismiss it: in the header, where it covers nothing until it is opened. */
export function Notices(): VNode {
  const [loaded] = useLoaded<{ readonly notices: readonly Notice[] }>('/api/notices', concerns('notice'));
  const [isOpen, setOpen] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const notices = loaded.value.value?.notices ?? [];
  const dismiss = async (ids: readonly string[]): Promise<void> => {
    const ended = await Promise.allSettled(ids.map((id) => ask('DELETE', `/api/notices/${encodeURIComponent(id)}`)));
    setError((ended.find(({ status }) => status === 'rejected') as { readonly reason: ApiError } | undefined)?.reason ?? null);
  };
  return (
    <div class="notices" aria-live="polite">
      {notices.length > 0 && (
        <button type="button" class="chip warn" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {notices.length === 1 ? '1 notice' : `${notices.length} notices`}
          {!isOpen && <span class="about">: {notices[0]?.text.trim().split('\n')[0]}</span>}
        </button>
      )}
      {isOpen && notices.length > 0 && (
        <aside aria-label="Notices">
          <Problem error={error} />
          {notices.map(({ id, at, text, threadId }) => (
            <article key={id} class="notice">
              <Markdown text={text} />
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
          {notices.length > 1 && (
            <button type="button" onClick={() => void dismiss(notices.map(({ id }) => id))}>
              Dismiss all {notices.length}
            </button>
          )}
        </aside>
      )}
    </div>
  );
}
