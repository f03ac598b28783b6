import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { More } from '../parts/more.tsx';
import { Awaited } from '../parts/awaited.tsx';
import { address, followLink } from '../router.ts';
import { useList } from '../server/list.ts';
import { concerns } from '../server/loaded.ts';
import type { Thread } from './shapes.ts';

/** The conversations of this person, newest first. */
export function ThreadList({ current }: { readonly current: string | null }): VNode {
  const words = useSignal('');
  const path = `/api/threads${words.value.trim() === '' ? '' : `?text=${encodeURIComponent(words.value.trim())}`}`;
  const list = useList<Thread>(path, 'threads', concerns('thread'));
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
      <Awaited of={list} />
      <ul>
        {list.rows.map(({ id, title, state, branchOf }) => (
          <li key={id}>
            <a href={address('chat', id)} onClick={followLink} aria-current={id === current ? 'page' : undefined}>
              {state === 'awaiting_approval' && <span class="warn"> asks you</span>}
              {branchOf !== null && (
                <span class="muted" title="A branch">
                  ↳{' '}
                </span>
              )}
              {title || id}
              {state === 'running' && <span class="muted"> …</span>}
              {state === 'cut_off' && <span class="warn"> cut off</span>}
            </a>
          </li>
        ))}
      </ul>
      <More list={list} />
    </aside>
  );
}
