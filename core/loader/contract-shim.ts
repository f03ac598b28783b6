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
  const url = pathToFileURL(file).href;
  return (await import(generation > 1 ? `${url}?generation=${generation}` : url)) as Readonly<Record<string, unknown>>;
}
