import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { ApiError, ask } from '../server/api.ts';

interface Question {
  readonly text: string;
  /** What a person must read before. */
  readonly shown: string;
  answer(isYes: boolean): void;
}

const question = signal<Question | null>(null);

/** Asks the person at the page. */
export function confirmed(text: string, shown = ''): Promise<boolean> {
  question.value?.answer(false);
  return new Promise((resolve) => {
    const answer = (isYes: boolean): void => {
      question.value = null;
      resolve(isYes);
    };
    question.value = { text, shown, answer };
  });
}

export type ChangeMethod = 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/**
 * Changes something, with `match` only while that is its tag. What the server shows and asks first, the person is shown and asked; null:
 * they said no.
 */
export async function change<T>(method: ChangeMethod, path: string, body: object = {}, match: string | null = null): Promise<T | null> {
  const agreed: string[] = [];
  for (;;) {
    try {
      return await ask<T>(method, path, agreed.length === 0 ? body : { ...body, confirm: agreed }, match);
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'confirmation_needed') throw error;
      const { shown, confirm } = error.answer as { readonly shown: string; readonly confirm: string };
      if (!(await confirmed(error.message, shown))) return null;
      agreed.push(confirm);
    }
  }
}

/** The one open question, above the page. */
export function Confirmation(): VNode | null {
  const dialog = useRef<HTMLDialogElement>(null);
  const { value } = question;
  useEffect(() => {
    if (value !== null) dialog.current?.showModal();
    else dialog.current?.close();
  }, [value]);
  return (
    <dialog ref={dialog} aria-labelledby="question" onCancel={() => value?.answer(false)}>
      {value !== null && (
        <>
          {value.shown !== '' && (
            <pre class="shown" tabIndex={0} aria-label="What it is about">
              {value.shown}
            </pre>
          )}
          <p id="question">{value.text}</p>
          <div class="row">
            <button type="button" class="main" onClick={() => value.answer(true)}>
              Yes
            </button>
            <button type="button" autofocus onClick={() => value.answer(false)}>
              No
            </button>
          </div>
        </>
      )}
    </dialog>
  );
}
