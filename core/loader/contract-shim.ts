import { mkdtemp, rm, symlink } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Plugin } from 'esbuild';

/** Under which a bundle finds the contract while it is imported. */
const KEY = 'pith.contract';

/** Replaces `import … from 'pith'`, so that each bundle uses the one instance of the contract that its host uses. */
export async function contractShim(): Promise<Plugin> {
  const names = Object.keys(await import('../contract/index.ts'));
  const contents = `export const { ${names.join(', ')} } = globalThis[Symbol.for('${KEY}')];`;
  return {
    name: 'pith-contract',
    setup(build) {
      build.onResolve({ filter: /^pith$/ }, ({ path }) => ({ path, namespace: 'pith' }));
      build.onLoad({ filter: /.*/, namespace: 'pith' }, () => ({ contents, loader: 'js' }));
    },
  };
}

/** Imports a bundle with this copy of the contract; a process may hold another copy of Pith. Each later generation is evaluated afresh. */
export async function importBundle(file: string, generation: number): Promise<Readonly<Record<string, unknown>>> {
  const contract = await import('../contract/index.ts');
  (globalThis as unknown as Record<symbol, unknown>)[Symbol.for(KEY)] = contract;
  const query = generation > 1 ? `?generation=${generation}` : '';
  const url = pathToFileURL(file).href;
  if (!/%5c/iu.test(url)) return (await import(url + query)) as Readonly<Record<string, unknown>>;
  // Node takes no address with a backslash in it, but a link to such a place.
  const folder = await mkdtemp(path.join(os.tmpdir(), 'pith-import-'));
  try {
    const link = path.join(folder, 'bundle.mjs');
    await symlink(file, link);
    return (await import(pathToFileURL(link).href + query)) as Readonly<Record<string, unknown>>;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
