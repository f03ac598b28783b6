import { printable } from '@pith/plain-text';
import { options, type VNode } from 'preact';

/** Shows each text of the page as a terminal shows it: what is invisible or turns the order of the texts around it is written out. */
export function showPrintableTexts(): void {
  const before = options.vnode;
  options.vnode = (node: VNode) => {
    const { props } = node as { readonly props: unknown };
    if (typeof props === 'string') (node as { props: unknown }).props = printable(props); // it is a text

    before?.(node);
  };
}
