import type { VNode } from 'preact';
import { Markdown } from '../parts/markdown.tsx';
import { followLink } from '../router.ts';
import { threadLink } from './thread-link.ts';
import { Timeline } from './timeline.tsx';

interface OfThreadProps {
  readonly thread: string;
  readonly owner: string;
}

/** Leads to where this person reads what was done for a task or a run. */
export function ThreadLink({ thread, owner }: OfThreadProps): VNode | null {
  const link = threadLink(thread, owner);
  if (link === null) return null;
  return (
    <p>
      <a href={link.href} onClick={followLink}>
        {link.text}
      </a>
    </p>
  );
}

/** What came of a task or a run. */
export function Outcome({ text }: { readonly text: string }): VNode {
  return (
    <section>
      <h2>Result</h2>
      <Markdown text={text} />
    </section>
  );
}

/** What took how long in it. */
export function ThreadTimeline({ thread }: Pick<OfThreadProps, 'thread'>): VNode {
  return (
    <section>
      <h2>Timeline</h2>
      <Timeline threadId={thread} />
    </section>
  );
}
