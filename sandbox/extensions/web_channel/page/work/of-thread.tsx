import type { VNode } from 'preact';
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

/** What took how long in it. */
export function ThreadTimeline({ thread }: Pick<OfThreadProps, 'thread'>): VNode {
  return (
    <section>
      <h2>Timeline</h2>
      <Timeline threadId={thread} />
    </section>
  );
}
