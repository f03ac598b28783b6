import { signal } from '@preact/signals';

/** Where the page is: the path of its address. */
export const place = signal(location.pathname);

addEventListener('popstate', () => (place.value = location.pathname));

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
