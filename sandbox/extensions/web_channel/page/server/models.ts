import { useSignal } from '@preact/signals';
import { read } from './api.ts';

/** Names of models that settings give. */
const ALIASES = ['fast', 'standard', 'thinking'];

interface Models {
  readonly names: readonly string[];
  /** For who is about to choose one: servers are asked only then. */
  load(): void;
}

/** The models that there are. */
export function useModels(): Models {
  const names = useSignal<readonly string[] | null>(null);
  const load = (): void => {
    if (names.value !== null) return;
    names.value = ALIASES;
    void read<readonly { readonly id?: string }[]>('/api/models').then(
      (found) => (names.value = [...ALIASES, ...found.flatMap(({ id }) => id ?? [])]),
      () => (names.value = null), // asked again next time
    );
  };
  return { names: names.value ?? ALIASES, load };
}
