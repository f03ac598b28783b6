import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { ApiError, ask } from '../server/api.ts';

interface Confirmation {
  /** Of the dialog. */
  readonly title?: string;
  /** What a person must read before. */
  readonly shown?: string;
  /** What of that may do harm: No is the main answer then. */
  readonly serious?: readonly string[];
}

interface Question extends Required<Confirmation> {
  readonly text: string;
  answer(isYes: boolean): void;
}

const question = signal<Question | null>(null);

/** Asks the person at the page. */
export function confirmed(text: string, { title = 'Please confirm', shown = '', serious = [] }: Confirmation = {}): Promise<boolean> {
  question.value?.answer(false);
  return new Promise((resolve) => {
    const answer = (isYes: boolean): void => {
      question.value = null;
      resolve(isYes);
    };
    question.value = { title, text, shown, serious, answer };
  });
}

export type ChangeMethod = 'POST' | 'PUT' | 'PATCH' | 'DELETE';

interface ChangeOptions extends Pick<Confirmation, 'title'> {
  /** Only while that is its tag. */
  readonly match?: string | null;
}

/** Changes something. What the server shows and asks first, the person is shown and asked; null: they said no. */
export async function change<T>(method: ChangeMethod, path: string, body: object = {}, options: ChangeOptions = {}): Promise<T | null> {
  const { match = null, ...asked } = options;
  const agreed: string[] = [];
  for (;;) {
    try {
      return await ask<T>(method, path, agreed.length === 0 ? body : { ...body, confirm: agreed }, match);
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'confirmation_needed') throw error;
      const { shown, serious, confirm } = error.answer as Required<Pick<Confirmation, 'shown' | 'serious'>> & { readonly confirm: string };
      if (!(await confirmed(error.message, { ...asked, shown, serious }))) return null;
      agreed.push(confirm);
    }
  }
}

/** The one open question, above the page. */
export function Confirmation(): VNode | null {
  const dialog = useRef<HTMLDialogElement>(null);
  const { value } = question;
  useLayoutEffect(() => {
    if (value !== null) dialog.current?.showModal();
    else dialog.current?.close();
  }, [value]);
  return (
    <dialog ref={dialog} aria-labelledby="question-title" aria-describedby="question" onCancel={() => value?.answer(false)}>
      {value !== null && (
        <>
          <h2 id="question-title">{value.title}</h2>
          {value.serious.map((line) => (
            <p key={line} class="bad">
              {line}
            </p>
          ))}
          {value.shown !== '' && (
            <pre class="shown" tabIndex={0} aria-label="What it is about">
              {value.shown}
            </pre>
          )}
          <p id="question">{value.text}</p>
          <div class="row">
            <button type="button" class={value.serious.length === 0 ? 'main' : ''} onClick={() => value.answer(true)}>
              Yes
            </button>
            <button type="button" class={value.serious.length === 0 ? '' : 'main'} autofocus onClick={() => value.answer(false)}>
              No
            </button>
          </div>
        </>
      )}
    </dialog>
  );
}
