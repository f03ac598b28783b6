import type { VNode } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { ApiError } from '../server/api.ts';
import type { Loaded, Loading } from '../server/loaded.ts';
import { CodeBlock } from './code-block.tsx';
import { Problem } from './problem.tsx';

/** What somebody wrote into a field. */
export interface Written {
  readonly field: string;
  readonly text: string;
}

/** What a form was made of, which stays while somebody writes in it. */
export interface Edited<T> {
  readonly base: Loaded<T>;
  /** Of each form that is made anew: its key. */
  readonly round: number;
  /** What was in the form before it was made anew. */
  readonly written: readonly Written[];
  /** Makes the form anew of what is there now, and keeps what was written, to copy. */
  anew(written: readonly Written[]): Promise<void>;
}

/** For forms that two people may edit. `isTouched`: somebody writes in it. */
export function useEdited<T>([loaded, again]: Loading<T>, isTouched: boolean): Edited<T> {
  const base = useRef(loaded.value);
  const [{ round, written }, set] = useState<Pick<Edited<T>, 'round' | 'written'>>({ round: 0, written: [] });
  if (!isTouched || base.current.value === null) base.current = loaded.value;
  const anew = async (texts: readonly Written[]): Promise<void> => {
    await again();
    base.current = loaded.peek();
    set({ round: round + 1, written: texts.filter(({ text }) => text.trim() !== '') });
  };
  return { base: base.current, round, written, anew };
}

interface RefusedProps {
  readonly error: ApiError | null;
  takeTheirs(): void;
}

/** Why a form was refused: where somebody else was quicker, with the way to what they wrote. */
export function Refused({ error, takeTheirs }: RefusedProps): VNode {
  if (error?.status !== 412) return <Problem error={error} />;
  return (
    <div class="row">
      <Problem error={{ message: error.message, cure: { text: 'nothing of yours was saved' } }} />
      <button type="button" onClick={takeTheirs}>
        Load theirs, and keep mine to copy
      </button>
    </div>
  );
}

/** What a person wrote before they loaded what somebody else did. */
export function WhatYouWrote({ texts }: { readonly texts: readonly Written[] }): VNode | null {
  if (texts.length === 0) return null;
  return (
    <section aria-label="What you wrote">
      <h2>What you wrote</h2>
      <p class="muted">It was not saved. Copy what you still need.</p>
      {texts.map(({ field, text }) => (
        <section key={field}>
          <h3>{field}</h3>
          <CodeBlock code={text} language="" />
        </section>
      ))}
    </section>
  );
}
