import type { VNode } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { CodeBlock } from '../parts/code-block.tsx';
import { usePassedFocus } from '../parts/passed-focus.ts';
import { Problem } from '../parts/problem.tsx';
import { ApiError } from '../server/api.ts';
import { mayAnswer } from '../server/session.ts';
import type { Conversation } from './conversation.ts';
import { messageBox } from './message-box.ts';
import type { Answer, Question } from './shapes.ts';

/** The keys and the words of a chat in a terminal. */
const KEYS: Readonly<Record<Answer, readonly [key: string, words: string, means: string]>> = {
  once: ['y', 'Yes', 'allow this call'],
  always: ['a', 'Always in this chat', 'allow what is shown in this chat, without asking again'],
  project: ['p', 'Always in this project', 'allow what is shown in every chat of this project'],
  no: ['n', 'No', 'refuse; the agent goes on without it'],
};

/** Lines that are shown at once. */
const LONG = 25;

interface QuestionViewProps {
  readonly question: Question;
  readonly conversation: Conversation;
  /** Whether keys answer it: of several questions one at a time. */
  readonly takesKeys: boolean;
}

export function QuestionView({ question, conversation, takesKeys }: QuestionViewProps): VNode {
  const [error, setError] = useState<ApiError | null>(null);
  const [reason, setReason] = useState('');
  const [isWhole, setWhole] = useState(false);
  const isAnswering = useRef(false);
  const why = useRef<HTMLInputElement>(null);
  const view = useRef<HTMLElement>(null);
  usePassedFocus(view, (left) => otherQuestion(left) ?? messageBox());
  const details = question.details ?? JSON.stringify(question.input, null, 2);
  const isLong = details.split('\n').length > LONG;
  const answer = async (choice: Answer): Promise<void> => {
    if (isAnswering.current) return;
    isAnswering.current = true;
    try {
      await conversation.answer(question, choice, choice === 'no' ? reason.trim() : '');
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      setError(error);
    } finally {
      isAnswering.current = false;
    }
  };
  // At once with what is drawn: a key answers what its person sees.
  useLayoutEffect(() => {
    if (!takesKeys || !mayAnswer()) return undefined;
    const press = (event: KeyboardEvent): void => {
      const isTyping = event.target instanceof HTMLElement && event.target.matches('input, textarea, select');
      const choice = question.answers.find((each) => KEYS[each][0] === event.key.toLowerCase());
      if (
        isTyping ||
        event.metaKey ||
        event.ctrlKey ||
        event.altKey ||
        event.repeat ||
        !isInView(view.current) ||
        document.querySelector('dialog[open]') !== null
      )
        return;
      if (event.key === 'e') why.current?.focus();
      else if (event.key === 'v' && isLong) setWhole(!isWhole);
      else if (choice !== undefined) void answer(choice);
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  });
  return (
    <section class="question" aria-label="A question to you" tabIndex={-1} ref={view}>
      <h2>{question.summary}</h2>
      <p class="muted">
        {question.agents.join(' → ')} asks to call <code>{question.tool}</code>
        {question.enforced !== null && ` · ${question.enforced}`}
      </p>
      <div class={isLong && !isWhole ? 'part' : ''}>
        <CodeBlock code={details} language={question.details === null ? 'json' : /^(?:--- |@@ )/m.test(details) ? 'diff' : ''} />
      </div>
      {isLong && (
        <button type="button" class="quiet" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          View all {takesKeys && <kbd>v</kbd>}
        </button>
      )}
      {question.covers !== null && <p class="muted">Always covers: {question.covers}</p>}
      {mayAnswer() ? (
        <div class="row">
          {question.answers.map((choice) => (
            <button
              key={choice}
              type="button"
              class={choice === 'once' ? 'main' : ''}
              title={KEYS[choice][2]}
              onClick={() => void answer(choice)}
            >
              {KEYS[choice][1]} {takesKeys && <kbd>{KEYS[choice][0]}</kbd>}
            </button>
          ))}
          <input
            ref={why}
            class="wide"
            value={reason}
            placeholder={`Why not? The agent reads it${takesKeys ? ' (e)' : ''}`}
            aria-label="Why not"
            aria-keyshortcuts={takesKeys ? 'e' : undefined}
            onInput={({ currentTarget }) => setReason(currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key === 'Enter' && reason.trim() !== '') void answer('no');
            }}
          />
        </div>
      ) : (
        <p>
          This session may not answer. In a terminal: <code>pith approvals show {question.number}</code>
        </p>
      )}
      <Problem error={error} />
    </section>
  );
}

function otherQuestion(left: HTMLElement): HTMLElement | undefined {
  return [...document.querySelectorAll<HTMLElement>('.question')].find((each) => each !== left);
}

/** Brings the open question before its person: keys answer it then. */
export function showQuestion(): void {
  const view = document.querySelector<HTMLElement>('.question');
  view?.focus({ preventScroll: true });
  view?.scrollIntoView({ block: 'end' });
}

/** Its answers, at its end, are on the screen. */
function isInView(view: HTMLElement | null): boolean {
  if (view === null) return false;
  const { bottom } = view.getBoundingClientRect();
  const shown = view.closest('.scrolled')?.getBoundingClientRect() ?? { top: 0, bottom: innerHeight };
  return bottom > shown.top && bottom <= shown.bottom + 1;
}
