import type { ComponentChildren } from 'preact';

/** A line of prose in which backticks mark code. */
export function CodeWords({ text }: { readonly text: string }): ComponentChildren {
  return text.split('`').map((part, at) => (at % 2 === 0 ? part : <code key={at}>{part}</code>));
}
