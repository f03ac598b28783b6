import type { VNode } from 'preact';
import { useRef } from 'preact/hooks';
import { usePassedFocus } from '../parts/passed-focus.ts';
import { Problem } from '../parts/problem.tsx';
import type { ApiError } from '../server/api.ts';
import type { Attachment } from './attachments.ts';
import { messageBox } from './message-box.ts';

/** A message that was not taken. */
export interface Unsent {
  readonly text: string;
  readonly attachments: readonly Attachment[];
  readonly key: string;
  readonly error: ApiError;
}

interface UnsentProps {
  readonly message: Unsent;
  sendAgain(): void;
  discard(): void;
}

export function UnsentView({ message: { text, attachments, error }, sendAgain, discard }: UnsentProps): VNode {
  const view = useRef<HTMLElement>(null);
  usePassedFocus(view, messageBox);
  return (
    <section ref={view} class="unsent" aria-label="A message that was not sent">
      <p>{text}</p>
      {attachments.length > 0 && <p class="muted">With {attachments.map(({ name }) => name).join(', ')}</p>}
      <Problem error={error} />
      <div class="row">
        <button type="button" onClick={sendAgain}>
          Send again
        </button>
        <button type="button" onClick={discard}>
          Discard
        </button>
      </div>
    </section>
  );
}
