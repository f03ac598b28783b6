import type { ComponentChildren, VNode } from 'preact';
import { isAdministrator } from '../server/session.ts';

/** A view that only administrators have: others who come to its address are told so, and are shown nothing that they may not do. */
export function ForAdmins({ children }: { readonly children: ComponentChildren }): VNode {
  if (isAdministrator()) return <>{children}</>;
  return (
    <main class="view">
      <p>This is for administrators.</p>
    </main>
  );
}
