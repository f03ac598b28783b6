import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { CodeBlock } from '../parts/code-block.tsx';
import { Problem } from '../parts/problem.tsx';
import { ApiError } from '../server/api.ts';
import type { Conversation } from './conversation.ts';
import type { Answer, Question } from './shapes.ts';

/** The keys of a chat in a terminal. */
const KEYS: Readonly<Record<Answer, readonly [key: string, words: string]>> = {
  once: ['y', 'Yes, once'],
  always: ['a', 'Always in this chat'],
  project: ['p', 'Always in this project'],
  no: ['n', 'No'],
};

export function QuestionView({ question, conversation }: { readonly question: Question; readonly conversation: Conversation }): VNode {
  const [error, setError] = useState<ApiError | null>(null);
  const [reason, setReason] = useState('');
  const answer = async (choice: Answer): Promise<void> => {
    try {
      await conversation.answer(question, choice, choice === 'no' ? reason.trim() : '');
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      setError(error);
    }
  };
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      const isTyping = event.target instanceof HTMLElement && event.target.matches('input, textarea, select');
      const choice = question.answers.find((each) => KEYS[each][0] === event.key.toLowerCase());
      if (isTyping || event.metaKey || event.ctrlKey || event.altKey || choice === undefined) return;
      event.preventDefault();
      void answer(choice);
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  });
  return (
    <section class="question" aria-label="A question to you">
      <h2>{question.summary}</h2>
      <p class="muted">
        {question.agents.join(' → ')} asks to call <code>{question.tool}</code>
        {question.enforced !== null && ` · ${question.enforced}`}
      </p>
      {question.details === null ? (
        <CodeBlock code={JSON.stringify(question.input, null, 2)} language="json" />
      ) : (
        <CodeBlock code={question.details} language={/^(?:--- |@@ )/m.test(question.details) ? 'diff' : ''} />
      )}
      {question.covers !== null && <p class="muted">Always covers: {question.covers}</p>}
      <div class="row">
        {question.answers.map((choice) => (
          <button key={choice} type="button" class={choice === 'once' ? 'main' : ''} onClick={() => void answer(choice)}>
            {KEYS[choice][1]} <kbd>{KEYS[choice][0]}</kbd>
          </button>
        ))}
        <input
          class="wide"
          value={reason}
          placeholder="Why not? The agent reads it"
          aria-label="Why not"
          onInput={({ currentTarget }) => setReason(currentTarget.value)}
        />
      </div>
      <Problem error={error} />
    </section>
  );
}
