import type { ComponentChildren, VNode } from 'preact';

/** What a box of a field has, so that its label, its description and what is wrong with it are its own. */
export interface BoxAttributes {
  readonly id: string;
  readonly 'aria-invalid': boolean;
  readonly 'aria-describedby': string;
}

interface FieldProps {
  readonly id: string;
  readonly label: ComponentChildren;
  readonly about?: ComponentChildren;
  /** null: nothing is wrong with it. */
  readonly problem: string | null;
  children(box: BoxAttributes): ComponentChildren;
}

/** A field of a form with its label, what it is, and what the server says of it. */
export function Field({ id, label, about, problem, children }: FieldProps): VNode {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, 'aria-invalid': problem !== null, 'aria-describedby': `about-${id}` })}
      <span id={`about-${id}`} class="muted">
        {problem !== null && <strong class="bad">{problem} </strong>}
        {about}
      </span>
    </div>
  );
}
