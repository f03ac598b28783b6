import { useLayoutEffect } from 'preact/hooks';

/** Where `part` is taken out of the page while the focus is in it, the focus goes on to what `next` finds; else it would fall to the page's beginning. */
export function usePassedFocus(
  part: { readonly current: HTMLElement | null },
  next: (left: HTMLElement) => HTMLElement | null | undefined,
): void {
  useLayoutEffect(
    () => () => {
      const { current } = part;
      if (current?.contains(document.activeElement) === true) next(current)?.focus();
    },
    [],
  );
}
