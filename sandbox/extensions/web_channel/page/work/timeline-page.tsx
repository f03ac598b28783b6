import type { VNode } from 'preact';
import { address, followLink } from '../router.ts';
import { useLoaded } from '../server/loaded.ts';
import { Timeline } from './timeline.tsx';

/** The timeline of a conversation, a turn at a time. */
export function TimelinePage({ threadId }: { readonly threadId: string }): VNode {
  const path = `/api/threads/${encodeURIComponent(threadId)}?limit=1`;
  const [loaded] = useLoaded<{ readonly thread: { readonly title: string } }>(path, ({ data }) => data['id'] === threadId);
  return (
    <main class="view">
      <p>
        <a href={address('chat', threadId)} onClick={followLink}>
          {loaded.value.value?.thread.title || 'Conversation'}
        </a>
      </p>
      <h1>Timeline</h1>
      <Timeline threadId={threadId} />
    </main>
  );
}
