import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Plugin } from 'esbuild';
import * as agent from '../../contract/agent.ts';
import * as commandLine from '../../contract/command-line.ts';
import * as errors from '../../contract/errors.ts';
import * as events from '../../contract/events.ts';
import * as nearest from '../../contract/nearest.ts';
import { once } from '../../contract/once.ts';
import * as protocol from '../../contract/protocol.ts';
import * as shippedSandbox from '../../contract/shipped-sandbox.ts';
import * as tool from '../../contract/tool.ts';
import { contractNow } from './contract-now.ts';
import { packageVersion } from '../package-version.ts';
import { PROTOCOLS } from '../calls/protocols.ts';
import { splitImports } from './split-imports.ts';

/**
 * The host's own contract, for bundles: `light` is what loads no zod, so that a command which needs none starts without it;
 * `full` is all. One instance for everyone, whichever way the kernel itself was built.
 */
interface Contract {
  readonly light: Readonly<Record<string, unknown>>;
  full(): Promise<Readonly<Record<string, unknown>>>;
  /** All, without waiting. */
  now(): Readonly<Record<string, unknown>>;
}

/** For bundles that came with Pith: whichever copy of it loads one has offered its own contract just before. */
const KEY = 'pith.contract';
/** For bundles that this copy made. There may be more of them in a process: two versions, or the sources beside the build. */
const ownKey = once(
  () =>
    `${KEY} ${createHash('sha256')
      .update(import.meta.url)
      .digest('hex')
      .slice(0, 12)}`,
);
/** Stands at the head of a shipped bundle, because parts of it are evaluated later. */
export const CONTRACT_BANNER = `const __contract = globalThis[Symbol.for(${JSON.stringify(KEY)})];`;

const LIGHT: Readonly<Record<string, unknown>> = {
  ...agent,
  ...commandLine,
  ...errors,
  ...events,
  ...nearest,
  ...protocol,
  ...shippedSandbox,
  ...tool,
  ...Object.fromEntries([...PROTOCOLS.values()].map((each) => [`${each.id[0]!.toUpperCase()}${each.id.slice(1)}Provider`, each])),
};

/** Part of every bundle's key: a bundle made for another contract is not used. */
export function contractVersion(): string {
  return [ownKey(), packageVersion(), ...Object.keys(LIGHT).sort()].join();
}

/** Makes the contract reachable for the bundle that is loaded right after the call of what this resolves to. */
export async function offerContract({ shipped }: { readonly shipped: boolean }): Promise<() => void> {
  const whole = contractNow === null ? await import('../../contract/index.ts') : null;
  const contract: Contract = {
    light: LIGHT,
    full: () => import('../../contract/index.ts'),
    now: () => whole ?? contractNow?.() ?? {},
  };
  const place = globalThis as unknown as Record<symbol, Contract>;
  if (!shipped) place[Symbol.for(ownKey())] = contract;
  return () => void (place[Symbol.for(KEY)] = contract);
}

interface ShimOptions {
  readonly lazy: boolean;
  readonly rewrite?: ((source: string, file: string) => string) | undefined;
}

/**
 * Replaces `import … from 'pith'`: one named export for each of the contract's. `lazy`: for CommonJS, which reads what needs zod when it
 * is used and not when it is imported. `rewrite`: what is bundled in place of a source's text.
 */
export async function contractShim({ lazy, rewrite = unchanged }: ShimOptions): Promise<Plugin> {
  const contract: Readonly<Record<string, unknown>> = await import('../../contract/index.ts');
  const names = Object.keys(contract);
  const light = names.filter((name) => Object.hasOwn(LIGHT, name) && LIGHT[name] === contract[name]);
  const heavy = names.filter((name) => !light.includes(name));
  const read = lazy ? '__contract' : `globalThis[Symbol.for(${JSON.stringify(ownKey())})]`;
  const isHeavy = (name: string) => heavy.includes(name);
  const sources = new Map([
    ['pith', `export { ${light.join(', ')} } from 'pith:light';\nexport { ${heavy.join(', ')} } from 'pith:full';`],
    ['pith:light', exportsFrom(`${read}.light`, light)],
    ['pith:full', lazy ? gettersFrom(`${read}.now()`, heavy) : exportsFrom(`await ${read}.full()`, heavy)],
  ]);
  return {
    name: 'pith-contract',
    setup(build) {
      // Without side effects, so that what an extension does not use is left out, zod above all.
      build.onResolve({ filter: /^pith(:light|:full)?$/ }, ({ path }) => ({ path, namespace: 'pith', sideEffects: false }));
      build.onLoad({ filter: /\.[cm]?[jt]sx?$/, namespace: 'file' }, async ({ path }) => {
        if (/[\\/]node_modules[\\/]/.test(path)) return undefined;
        const loader = /(tsx?|jsx?)$/.exec(path)?.[0] as 'ts' | 'tsx' | 'js' | 'jsx';
        return { contents: splitImports(rewrite(await readFile(path, 'utf8'), path), isHeavy), loader };
      });
      build.onLoad({ filter: /.*/, namespace: 'pith' }, ({ path }) => ({ contents: sources.get(path) ?? '', loader: 'js' }));
    },
  };
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
