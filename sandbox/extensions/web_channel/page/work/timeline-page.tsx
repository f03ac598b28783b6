import type { VNode } from 'preact';
import { address, followLink } from '../router.ts';
import { useLoaded } from '../server/loaded.ts';
import { isAdministrator, person } from '../server/session.ts';
import { Timeline } from './timeline.tsx';

interface Thread {
  readonly title: string;
  readonly userId: string;
}

/** The timeline of a conversation, a turn at a time. */
export function TimelinePage({ threadId }: { readonly threadId: string }): VNode {
  const path = `/api/threads/${encodeURIComponent(threadId)}?limit=1${isAdministrator() ? '&all=true' : ''}`;
  const [loaded] = useLoaded<{ readonly thread: Thread }>(path, ({ data }) => data['id'] === threadId);
  const { title = '', userId } = loaded.value.value?.thread ?? {};
  return (
    <main class="view">
      <p>
        {userId === person.value?.userId ? (
          <a href={address('chat', threadId)} onClick={followLink}>
            {title || 'Conversation'}
          </a>
        ) : (
          [title, userId].filter(Boolean).join(' · ')
        )}
      </p>
      <h1>Timeline</h1>
      <Timeline threadId={threadId} />
    </main>
  );
}
