import type { VNode } from 'preact';
import type { ApiError } from '../server/api.ts';
import { CureView } from './cure.tsx';

/** What went wrong, with its cure. */
export function Problem({ error }: { readonly error: Pick<ApiError, 'message' | 'cure'> | null }): VNode | null {
  if (error === null) return null;
  return (
    <p role="alert">
      {error.message}
      <CureView cure={error.cure} />
    </p>
  );
}
