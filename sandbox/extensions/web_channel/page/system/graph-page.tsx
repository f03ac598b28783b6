import { useSignal } from '@preact/signals';
import type { ComponentType, VNode } from 'preact';
import { useEffect } from 'preact/hooks';
import { Awaited } from '../parts/awaited.tsx';
import { concerns, useLoaded } from '../server/loaded.ts';
import type { Extension } from './extension.ts';

/** The graph, with the library that places its nodes, is loaded when somebody opens it. */
export function GraphPage(): VNode {
  const [loaded] = useLoaded<readonly Extension[]>('/api/extensions', concerns('extension'));
  const view = useSignal<ComponentType<{ extensions: readonly Extension[] }> | null>(null);
  useEffect(() => {
    void import('./graph-view.tsx').then((module) => (view.value = module.default));
  }, []);
  const Shown = view.value;
  return (
    <>
      <Awaited of={{ value: Shown && loaded.value.value, error: loaded.value.error }} />
      {Shown !== null && loaded.value.value !== null && <Shown extensions={loaded.value.value} />}
    </>
  );
}
