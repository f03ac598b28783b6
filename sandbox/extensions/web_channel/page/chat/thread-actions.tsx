import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { confirmed } from '../parts/confirm.tsx';
import { Problem } from '../parts/problem.tsx';
import { followLink, goTo } from '../router.ts';
import { type ApiError, ask, readText } from '../server/api.ts';
import type { Thread } from './shapes.ts';

/** What can be done with a conversation as a whole. */
export function ThreadActions({ thread }: { readonly thread: Thread }): VNode {
  const [error, setError] = useState<ApiError | null>(null);
  const [title, setTitle] = useState<string | null>(null);
  const path = `/api/threads/${encodeURIComponent(thread.id)}`;
  const act = async (work: () => Promise<unknown>): Promise<void> => {
    setError(null);
    await work().catch((wrong: unknown) => setError(wrong as ApiError));
  };
  const rename = (event: Event): void => {
    event.preventDefault();
    void act(async () => {
      await ask('PATCH', path, { title });
      setTitle(null);
    });
  };
  const remove = async (): Promise<void> => {
    if (!(await confirmed(`Delete “${thread.title}” and all that was said in it?`))) return;
    await act(async () => {
      await ask('DELETE', path);
      goTo('/chat');
    });
  };
  const save = async (): Promise<void> => {
    const address = URL.createObjectURL(new Blob([await readText(`${path}/export`)], { type: 'text/markdown' }));
    const link = Object.assign(document.createElement('a'), { href: address, download: `${thread.id}.md` });
    link.click();
    URL.revokeObjectURL(address);
  };
  return (
    <details class="menu">
      <summary>More</summary>
      {title === null ? (
        <div class="row">
          <button type="button" onClick={() => setTitle(thread.title)}>
            Rename
          </button>
          <button type="button" onClick={() => void act(save)}>
            Save as Markdown
          </button>
          <button type="button" onClick={() => void act(() => ask('POST', `${path}/compact`))}>
            Shorten
          </button>
          <a class="button" href={`/work/timeline/${encodeURIComponent(thread.id)}`} onClick={followLink}>
            Timeline
          </a>
          <button type="button" onClick={() => void remove()}>
            Delete
          </button>
        </div>
      ) : (
        <form class="row" onSubmit={rename}>
          <input value={title} aria-label="Title" onInput={({ currentTarget }) => setTitle(currentTarget.value)} />
          <button type="submit">Rename</button>
          <button type="button" onClick={() => setTitle(null)}>
            Leave it
          </button>
        </form>
      )}
      <Problem error={error} />
    </details>
  );
}
