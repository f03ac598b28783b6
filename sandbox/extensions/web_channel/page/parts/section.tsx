import type { ComponentChildren, VNode } from 'preact';
import { useState } from 'preact/hooks';

/** A part of a view that is made, and loaded, when it is opened. */
export function Section({ title, children }: { readonly title: string; children(): ComponentChildren }): VNode {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="section" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <h2>{title}</h2>
      </summary>
      {isOpen && children()}
    </details>
  );
}
