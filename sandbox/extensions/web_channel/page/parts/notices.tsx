import type { VNode } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { followLink } from '../router.ts';
import { ask, type ApiError } from '../server/api.ts';
import { concerns, useLoaded } from '../server/loaded.ts';
import { placeOf, type Thing } from '../things.ts';
import { Markdown } from './markdown.tsx';
import { usePassedFocus } from './passed-focus.ts';
import { Problem } from './problem.tsx';

interface Notice {
  readonly id: string;
  readonly at: string;
  readonly text: string;
  readonly threadId: string | null;
  /** What it tells of. */
  readonly about: Thing | null;
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
          {notices.map((notice) => (
            <NoticeView key={notice.id} notice={notice} dismiss={() => void dismiss([notice.id])} />
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

function NoticeView({ notice, dismiss }: { readonly notice: Notice; dismiss(): void }): VNode {
  const view = useRef<HTMLElement>(null);
  usePassedFocus(view, otherNotice);
  return (
    <article ref={view} class="notice">
      <Markdown text={notice.text} />
      <div class="row">
        <time class="muted" dateTime={notice.at}>
          {new Date(notice.at).toLocaleString()}
        </time>
        {placesOf(notice).map(({ href, name }) => (
          <a key={href} href={href} onClick={followLink}>
            Open the {name}
          </a>
        ))}
        <button type="button" onClick={dismiss}>
          Dismiss
        </button>
      </div>
    </article>
  );
}

/** What it tells of, and the conversation that it belongs to. */
function placesOf({ about, threadId }: Notice) {
  const things = [...(about === null ? [] : [about]), ...(threadId === null ? [] : [{ kind: 'thread', id: threadId }])];
  const places = new Map(things.map(placeOf).flatMap((place) => (place === null ? [] : [[place.href, place] as const])));
  return [...places.values()];
}

/** The next one to read; behind the last, the view that is open. */
function otherNotice(left: HTMLElement): HTMLElement | null {
  const other = [...document.querySelectorAll('.notice')].find((each) => each !== left);
  return other?.querySelector('button') ?? document.querySelector<HTMLElement>('.bar nav [aria-current]');
}
