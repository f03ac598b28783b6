import { existsSync, realpathSync, statSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { builtinModules } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { isBelow, isInside } from '@pith/safe-files';
import { CONTRACT_FILE } from '../declarations/index.ts';
import { RESERVED_IDS } from '../trust/index.ts';
import type { OnResolveArgs, OnResolveResult, Plugin, PluginBuild } from 'esbuild';

export interface ImportRules {
  /** The extension's folder, which relative imports must not leave. */
  readonly directory: string;
  /** What it is called in messages where another extension declares it. Absent: an extension. */
  readonly owner?: string;
  /** Where packages are looked for when the extension has none of its own. */
  readonly packageRoot: string;
  /** What each `pith/<id>` leads to. Absent: nothing may be imported so. */
  readonly contracts?: Readonly<Record<string, { readonly file: string }>>;
  /** Extensions without which this one works, and which are not there. */
  readonly absent?: readonly string[];
}

/** Marks a finding of these rules among esbuild's. */
export const FORBIDDEN = 'import_forbidden';
export const WHAT_MAY = "import 'pith', 'pith/<id>' of what it depends on, node:*, npm packages and own files only";
const OWN_PACKAGES = '@pith/';
const DESCRIPTIONS = ['package.json', 'tsconfig.json'];
export const LARGEST_SOURCE = 16 * 1024 * 1024;
const BUILT_IN = new Set(builtinModules);

/** What an extension may import, and how each import is found. */
export function importRules(rules: ImportRules): Plugin {
  const home = realpathSync(rules.directory);
  return {
    name: 'pith-imports',
    setup(build) {
      build.onLoad({ filter: /.*/, namespace: CONTRACT }, async ({ path: file }) => {
        const found = await stat(file);
        if (!found.isFile() || found.size > LARGEST_SOURCE) return { errors: [{ text: `${file} is not a file of source text` }] };
        return { contents: await readFile(file, 'utf8'), loader: 'ts' };
      });
      build.onLoad({ filter: /.*/, namespace: ABSENT }, () => ({ contents: 'module.exports = {}', loader: 'js' }));
      build.onResolve({ filter: /.*/ }, (args) => {
        if (args.namespace === CONTRACT) return forbiddenInContract(args.path);
        if (args.kind === 'entry-point' && args.path === path.join(rules.directory, CONTRACT_FILE))
          return { path: args.path, namespace: CONTRACT };
        if (args.kind === 'entry-point' || args.pluginData === RESOLVING || args.namespace !== 'file') return undefined;
        return args.path.startsWith(OWN_PACKAGES) ? ownPackage(args.path, rules) : resolveImport(build, args, rules, home);
      });
    },
  };
}

const RESOLVING = Symbol('resolving');
/** A contract: of another extension, its text becomes part of the bundle, and a protocol or topic of it is known by its id. */
export const CONTRACT = 'pith-contract-of';
/** The contract of an optional dependency that is not there: whatever is imported of it is undefined. */
const ABSENT = 'pith-absent';

async function resolveImport(
  build: PluginBuild,
  args: OnResolveArgs,
  rules: ImportRules,
  home: string,
): Promise<OnResolveResult | undefined> {
  const wanted = args.path;
  const { owner = 'extension' } = rules;
  const leaves = `'${wanted}' leaves the ${owner}'s folder`;
  if (wanted.startsWith('node:') || BUILT_IN.has(wanted))
    return { path: wanted.startsWith('node:') ? wanted : `node:${wanted}`, external: true };
  if (/^[a-z][a-z0-9+.-]+:/i.test(wanted)) return forbidden(`'${shorten(wanted)}' is code from elsewhere`, owner);
  if (wanted.startsWith('pith/')) return contractOf(wanted, rules);
  if (path.isAbsolute(wanted)) return forbidden(`'${wanted}' is an absolute path`, owner);
  const odd = await oddBeforeLooking(args, wanted, home);
  if (odd !== null) return forbidden(`'${odd}' is not a file`, owner);
  if (/^\.\.?(?:\/|$)/.test(wanted)) {
    const found = await resolveFrom(build, args, args.resolveDir);
    // Also what does not exist: whether there is something outside is not for an extension to learn.
    if (found.errors?.length) return isBelow(path.resolve(args.resolveDir, wanted), home) ? found : forbidden(leaves, owner);
    if (!isBelow(realpathSync(found.path ?? ''), home)) return forbidden(leaves, owner);
    return statSync(found.path as string).isFile() ? found : forbidden(`'${wanted}' is not a file`, owner); // whoever read it would wait for ever
  }
  return resolvePackage(build, args, rules, home);
}

function contractOf(wanted: string, { contracts = {}, absent = [], owner = 'extension' }: ImportRules): OnResolveResult {
  const id = wanted.slice('pith/'.length);
  if (absent.includes(id)) return { path: id, namespace: ABSENT };
  const file = Object.hasOwn(contracts, id) ? contracts[id]?.file : undefined;
  if (file !== undefined) return { path: file, namespace: CONTRACT };
  if (owner !== 'extension' || RESERVED_IDS.includes(id)) return forbidden(`'${wanted}' is not for ${owner}s`, owner);
  const text = `'${wanted}' is the contract of no extension that this one depends on`;
  const cure = `add ${id} to 'depends_on' or 'optional_depends_on', and see that it is there and has a contract.ts`;
  return { errors: [{ text, detail: FORBIDDEN, notes: [{ text: cure }] }] };
}

function forbiddenInContract(wanted: string): OnResolveResult {
  const text = `'${wanted}' is imported by a contract, which every dependant takes in`;
  return {
    errors: [{ text, detail: FORBIDDEN, notes: [{ text: "import 'pith' only in a contract.ts, and keep the rest in other files" }] }],
  };
}

/** To find a file, a bundler reads what describes the folders on its way. */
async function oddBeforeLooking({ resolveDir }: OnResolveArgs, wanted: string, home: string): Promise<string | null> {
  if (wanted.startsWith('.')) return oddDescription(home, path.resolve(resolveDir, wanted));
  for (let at = resolveDir; isInside(at, home); at = path.dirname(at)) {
    const odd = await oddDescription(home, path.join(at, 'node_modules', wanted));
    if (odd !== null) return odd;
  }
  return null;
}

/** Pith's own packages: one built file each. */
function ownPackage(wanted: string, { packageRoot }: ImportRules): OnResolveResult {
  const name = wanted.slice(OWN_PACKAGES.length);
  const file = path.join(packageRoot, 'dist/packages', `${name}.js`);
  if (/^[\w-]+$/.test(name) && existsSync(file)) return { path: pathToFileURL(file).href, external: true };
  return { errors: [{ text: `Pith has no package '${wanted}'` }] };
}

async function resolvePackage(build: PluginBuild, args: OnResolveArgs, rules: ImportRules, home: string): Promise<OnResolveResult> {
  const own = await resolveFrom(build, args, args.resolveDir);
  // Who trusts a dynamic extension looks at its folder: what lies around that is not part of it.
  const isUsable = !own.errors?.length && (rules.owner === undefined || isBelow(realpathSync(own.path ?? ''), home));
  const found = isUsable ? own : await resolveFrom(build, args, rules.packageRoot);
  if (found.errors?.length || found.path === undefined) {
    const text = `Cannot find package '${args.path}' from the ${rules.owner ?? 'extension'}'s folder nor from Pith`;
    return { errors: [{ text: `${text}; import what Pith gives from 'pith'` }] };
  }
  return { path: pathToFileURL(found.path).href, external: true };
}

async function resolveFrom(build: PluginBuild, args: OnResolveArgs, resolveDir: string): Promise<OnResolveResult> {
  const {
    path: found,
    errors,
    sideEffects,
    namespace,
  } = await build.resolve(args.path, { resolveDir, kind: args.kind, importer: args.importer, pluginData: RESOLVING });
  return errors.length > 0 ? { errors: [{ text: errors[0]!.text }] } : { path: found, sideEffects, namespace };
}

/** Why a bundler must not look into a folder: it reads these files by itself, whatever they are. null: it may. */
export async function oddDescription(home: string, folder: string): Promise<string | null> {
  for (let at = folder; isInside(at, home); at = path.dirname(at)) {
    for (const name of DESCRIPTIONS) {
      const found = await stat(path.join(at, name)).catch(() => null); // there is none
      if (found !== null && !(found.isFile() && found.size <= LARGEST_SOURCE)) return path.relative(home, path.join(at, name));
    }
  }
  return null;
}

/** Who must not import, as the begin of that. */
export function mustNot(owner: string): string {
  return `${owner === 'extension' ? 'an' : 'a'} ${owner} must not import`;
}

function forbidden(what: string, owner: string): OnResolveResult {
  const text = `${what}: ${mustNot(owner)} it`;
  return { errors: [{ text, detail: FORBIDDEN, notes: [{ text: WHAT_MAY }] }] };
}

function shorten(text: string): string {
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}
