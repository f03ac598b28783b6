import { printable } from '@pith/plain-text';
import { options, type VNode } from 'preact';

/** Shows each text of the page as a terminal shows it: what is invisible or turns the order of the texts around it is written out. */
export function showPrintableTexts(): void {
  const before = options.vnode;
  options.vnode = (node: VNode) => {
    const text = node as { type: unknown; props: unknown };
    if (text.type == null && typeof text.props === 'string') text.props = printable(text.props);
    before?.(node);
  };
}
