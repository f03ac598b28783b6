import type { VNode } from 'preact';
import type { ApiError } from '../server/api.ts';

/** What went wrong, with its cure. */
export function Problem({ error }: { readonly error: Pick<ApiError, 'message' | 'cure'> | null }): VNode | null {
  if (error === null) return null;
  return (
    <p role="alert">
      {error.message}
      {error.cure !== null && <span class="muted"> — {error.cure}</span>}
    </p>
  );
}
