import { computed, signal } from '@preact/signals';

/** Where the page is: the path of its address. */
export const place = signal(location.pathname);

/** The parts of that path, decoded. */
export const parts = computed(() => place.value.slice(1).split('/').map(decodeURIComponent));

addEventListener('popstate', () => (place.value = location.pathname));

/** The address of a view; a slash in one of `segments` divides it, as the server refuses an encoded one. */
export function address(...segments: readonly string[]): string {
  return `/${segments.join('/').split('/').map(encodeURIComponent).join('/')}`;
}

/** A link within the page, without loading it again. */
export function goTo(path: string): void {
  if (path === place.value) return;
  history.pushState(null, '', path);
  place.value = path;
}

/** For clicks on links within the page; with a key held, the browser opens a tab as ever. */
export function followLink(event: MouseEvent & { readonly currentTarget: HTMLAnchorElement | SVGAElement }): void {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
  event.preventDefault();
  const { href } = event.currentTarget;
  goTo(new URL(typeof href === 'string' ? href : href.baseVal, location.href).pathname);
}
