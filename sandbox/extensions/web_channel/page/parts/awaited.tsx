import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Loaded } from '../server/loaded.ts';
import { Problem } from './problem.tsx';

/** Of what comes sooner, nobody needs to be told that it is on its way. */
const SOON_MS = 300;

/** In the place of what a view shows until that is there: that it loads, where it takes long, or what went wrong. It takes no room, so that nothing moves. */
export function Awaited({ of: { value, error } }: { readonly of: Pick<Loaded<unknown>, 'value' | 'error'> }): VNode | null {
  if (error !== null) return <Problem error={error} />;
  return value === null ? <Loading /> : null;
}

function Loading(): VNode {
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), SOON_MS);
    return () => clearTimeout(timer);
  }, []);
  return (
    <p class="loading muted" role="status">
      {isLate && 'Loading…'}
    </p>
  );
}
