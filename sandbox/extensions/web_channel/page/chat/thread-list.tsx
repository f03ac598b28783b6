import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { Problem } from '../parts/problem.tsx';
import { address, followLink } from '../router.ts';
import { concerns, useLoaded } from '../server/loaded.ts';
import type { Thread } from './shapes.ts';

/** The conversations of this person, newest first. */
export function ThreadList({ current }: { readonly current: string | null }): VNode {
  const words = useSignal('');
  const path = `/api/threads?limit=100${words.value.trim() === '' ? '' : `&text=${encodeURIComponent(words.value.trim())}`}`;
  const [loaded] = useLoaded<{ readonly threads: readonly Thread[] }>(path, concerns('thread'));
  return (
    <aside class="threads" aria-label="Conversations">
      <a class="button" href="/chat" onClick={followLink}>
        New conversation
      </a>
      <input
        type="search"
        placeholder="Search"
        aria-label="Search conversations"
        value={words.value}
        onInput={({ currentTarget }) => (words.value = currentTarget.value)}
      />
      <Problem error={loaded.value.error} />
      <ul>
        {(loaded.value.value?.threads ?? []).map(({ id, title, state, branchOf }) => (
          <li key={id}>
            <a href={address('chat', id)} onClick={followLink} aria-current={id === current ? 'page' : undefined}>
              {branchOf !== null && (
                <span class="muted" title="A branch">
                  ↳{' '}
                </span>
              )}
              {title || id}
              {state === 'running' && <span class="muted"> …</span>}
              {state === 'awaiting_approval' && <span class="warn"> asks you</span>}
            </a>
          </li>
        ))}
      </ul>
    </aside>
  );
}
