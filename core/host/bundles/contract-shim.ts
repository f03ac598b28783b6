import { readFile } from 'node:fs/promises';
import type { Plugin } from 'esbuild';
import { contractKey, LIGHT_CONTRACT, SHIPPED_KEY } from './contract-offer.ts';
import type { SourceReader } from './own-sources.ts';
import { splitImports } from './split-imports.ts';

/** Stands at the head of a shipped bundle, because parts of it are evaluated later. */
export const CONTRACT_BANNER = `const __contract = globalThis[Symbol.for(${JSON.stringify(SHIPPED_KEY)})];`;

interface ShimOptions {
  readonly lazy: boolean;
  readonly rewrite?: ((source: string, file: string) => string) | undefined;
  readonly read?: SourceReader | undefined;
}

/**
 * Replaces `import … from 'pith'`: one named export for each of the contract's. `lazy`: for CommonJS, which reads what needs zod when it
 * is used and not when it is imported. `rewrite`: what is bundled in place of a source's text. `read`: how a source is read.
 */
export async function contractShim({ lazy, rewrite = unchanged, read = trusted }: ShimOptions): Promise<Plugin> {
  const contract: Readonly<Record<string, unknown>> = await import('../../contract/index.ts');
  const names = Object.keys(contract);
  const light = names.filter((name) => Object.hasOwn(LIGHT_CONTRACT, name) && LIGHT_CONTRACT[name] === contract[name]);
  const heavy = names.filter((name) => !light.includes(name));
  const from = lazy ? '__contract' : `globalThis[Symbol.for(${JSON.stringify(contractKey())})]`;
  const isHeavy = (name: string) => heavy.includes(name);
  const sources = new Map([
    ['pith', `export { ${light.join(', ')} } from 'pith:light';\nexport { ${heavy.join(', ')} } from 'pith:full';`],
    ['pith:light', exportsFrom(`${from}.light`, light)],
    ['pith:full', lazy ? gettersFrom(`${from}.now()`, heavy) : exportsFrom(`await ${from}.full()`, heavy)],
  ]);
  return {
    name: 'pith-contract',
    setup(build) {
      // Without side effects, so that what an extension does not use is left out, zod above all.
      build.onResolve({ filter: /^pith(:light|:full)?$/ }, ({ path }) => ({ path, namespace: 'pith', sideEffects: false }));
      build.onLoad({ filter: /\.[cm]?[jt]sx?$/, namespace: 'file' }, async ({ path }) => {
        if (/[\\/]node_modules[\\/]/.test(path)) return undefined;
        const loader = /(tsx?|jsx?)$/.exec(path)?.[0] as 'ts' | 'tsx' | 'js' | 'jsx';
        const source = await read(path);
        return typeof source === 'string' ? { contents: splitImports(rewrite(source, path), isHeavy), loader } : source;
      });
      build.onLoad({ filter: /.*/, namespace: 'pith' }, ({ path }) => ({ contents: sources.get(path) ?? '', loader: 'js' }));
    },
  };
}

function trusted(file: string): Promise<string> {
  return readFile(file, 'utf8');
}

function unchanged(source: string): string {
  return source;
}

function exportsFrom(source: string, names: readonly string[]): string {
  return [`const contract = ${source};`, ...names.map((name) => `export const ${name} = contract.${name};`)].join('\n');
}

function gettersFrom(source: string, names: readonly string[]): string {
  return names.map((name) => `Object.defineProperty(exports, '${name}', { enumerable: true, get: () => ${source}.${name} });`).join('\n');
}
