import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import { useEffect } from 'preact/hooks';

/** What was done last, for the view to which the page goes then. */
export const said = signal('');

/** Says it until the view is left. */
export function Said(): VNode {
  useEffect(() => () => void (said.value = ''), []);
  return <p role="status">{said}</p>;
}
