import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { Problem } from '../parts/problem.tsx';
import { address, followLink } from '../router.ts';
import type { ApiError } from '../server/api.ts';
import type { Thread } from './shapes.ts';
import { compactThread, deleteThread, renameThread, saveThread } from './thread-work.ts';

interface ThreadActionsProps {
  readonly thread: Thread;
  /** Of its title. */
  readonly tag: string | null;
}

/** What can be done with a conversation as a whole. */
export function ThreadActions({ thread, tag }: ThreadActionsProps): VNode {
  const [error, setError] = useState<ApiError | null>(null);
  const [title, setTitle] = useState<string | null>(null);
  /** Of the title that its person saw when they began to write another one, or were told of another one. */
  const [seen, setSeen] = useState(tag);
  const act = async (work: () => Promise<unknown>): Promise<void> => {
    setError(null);
    await work().catch((wrong: unknown) => setError(wrong as ApiError));
  };
  const rename = (event: Event): void => {
    event.preventDefault();
    setSeen(tag);
    void act(async () => {
      await renameThread(thread.id, title ?? '', seen);
      setTitle(null);
    });
  };
  return (
    <details class="menu">
      <summary>More</summary>
      {title === null ? (
        <div class="row">
          <button
            type="button"
            onClick={() => {
              setSeen(tag);
              setTitle(thread.title);
            }}
          >
            Rename
          </button>
          <button type="button" onClick={() => void act(() => saveThread(thread.id))}>
            Save as Markdown
          </button>
          <button type="button" onClick={() => void act(() => compactThread(thread.id))}>
            Shorten
          </button>
          <a class="button" href={address('work/timeline', thread.id)} onClick={followLink}>
            Timeline
          </a>
          <button type="button" onClick={() => void act(() => deleteThread(thread.id, thread.title))}>
            Delete
          </button>
        </div>
      ) : (
        <form class="row" onSubmit={rename}>
          <input value={title} aria-label="Title" onInput={({ currentTarget }) => setTitle(currentTarget.value)} />
          <button type="submit">Rename</button>
          <button type="button" onClick={() => setTitle(null)}>
            Cancel
          </button>
        </form>
      )}
      <Problem error={error} />
    </details>
  );
}
