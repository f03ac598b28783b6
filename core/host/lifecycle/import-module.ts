/** In a file of its own, because one that imports what only a run knows is compiled at every start (bin/code-cache.js). */
export function importModule(url: string): Promise<unknown> {
  return import(url);
}
