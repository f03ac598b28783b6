import type { ComponentType, VNode } from 'preact';
import { Awaited } from './awaited.tsx';
import { useEffect, useState } from 'preact/hooks';

/** A view that is a file of its own, loaded when it is opened. Give it a key. */
export function Lazy({ load }: { readonly load: () => Promise<ComponentType> }): VNode {
  const [Shown, setShown] = useState<ComponentType | null>(null);
  const [isGone, setGone] = useState(false);
  useEffect(() => {
    load().then(
      (component) => setShown(() => component),
      () => setGone(true), // Pith was replaced while the page was open, or does not answer
    );
  }, []);
  if (Shown !== null) return <Shown />;
  return isGone ? (
    <main class="view">
      <p role="alert">This view could not be loaded: Pith does not answer, or is another version now.</p>
      <p>
        <button type="button" onClick={() => location.reload()}>
          Load the page again
        </button>
      </p>
    </main>
  ) : (
    <main class="view" aria-busy="true">
      <Awaited of={{ value: null, error: null }} />
    </main>
  );
}
