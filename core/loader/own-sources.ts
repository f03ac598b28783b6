import { realpathSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Loader, OnLoadResult, Plugin } from 'esbuild';
import { notTextAt } from '@pith/plain-text';
import { isBelow, isInside, lacksRoom, readRegularFile, realPathOf } from '@pith/safe-files';
import { FORBIDDEN, LARGEST_SOURCE, mustNot, oddDescription, WHAT_MAY, type ImportRules } from './import-rules.ts';

/**
 * The only way by which files of others come into a bundle. A bundler has no limits and no sandbox, and by itself it would read whatever
 * a pattern of imports, a link or a source map names, also devices and pipes.
 */
export function ownSources({ directory, owner = 'extension' }: Pick<ImportRules, 'directory' | 'owner'>): Plugin {
  const home = realpathSync(directory);
  return {
    name: 'pith-sources',
    setup: (build) => build.onLoad({ filter: /.*/, namespace: 'file' }, ({ path: file }) => load(file, home, owner)),
  };
}

async function load(file: string, home: string, owner: string): Promise<OnLoadResult> {
  try {
    if (!isBelow(realpathSync(file), home))
      return refusal(`a computed import leaves the ${owner}'s folder: ${mustNot(owner)} what is outside`);
    const bytes = await readRegularFile(file, LARGEST_SOURCE);
    const at = notTextAt(bytes);
    if (at !== null) return noText(path.relative(home, file), bytes, at);
    const text = bytes.toString();
    const problem = MAYBE_COMPUTED.test(text) ? await problemOfPatterns(text, file, home) : null;
    if (problem !== null) return refusal(`${problem} the ${owner}'s folder: ${mustNot(owner)} what is outside`);
    const noMap = LOADERS[path.extname(file)] ?? (path.extname(file) === '.css' ? 'css' : null);
    const contents = noMap === null ? text : `${text}\n${noMap === 'css' ? `/*${NO_MAP} */` : `//${NO_MAP}`}`;
    return { contents, loader: 'default' };
  } catch (error) {
    if (lacksRoom(error)) throw error; // the file is as good as before
    return refusal(`'${path.relative(home, file)}' cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

const MOST_ENTRIES = 20_000;
const LOADERS: Readonly<Record<string, Loader>> = {
  '.ts': 'ts',
  '.mts': 'ts',
  '.cts': 'ts',
  '.tsx': 'tsx',
  '.js': 'js',
  '.mjs': 'js',
  '.cjs': 'js',
  '.jsx': 'jsx',
};
/** Of the maps that a text names its last one counts: this one is empty, and so it is not looked for elsewhere. */
export const NO_MAP = `# sourceMappingURL=data:application/json;base64,${Buffer.from('{"version":3,"sources":[],"mappings":""}').toString('base64')}`;

const MAYBE_COMPUTED = /\bimport\s*[(/]|\brequire\b|\\u/;
const COMPUTED =
  /\b(?:import|require(?:\.resolve)?)\s*\(\s*(?:\/\*[^]*?\*\/\s*|\/\/.*\n\s*)*(?:`([^`$]*)\$\{|"([^"\n]*)"\s*(?:\+|\.concat)|'([^'\n]*)'\s*(?:\+|\.concat))/g;

/** A bundler looks for the files that a pattern such as `./words/${language}.json` fits, in all folders below. */
async function problemOfPatterns(text: string, file: string, home: string): Promise<string | null> {
  const { transform } = await import('esbuild');
  const loader = LOADERS[path.extname(file)];
  if (loader === undefined) return null;
  // As the bundler sees it: without escapes, constants put together. The bundler itself says what cannot be understood.
  const seen = await transform(text, { loader, minifySyntax: true, charset: 'utf8', logLevel: 'silent', tsconfigRaw: '{}' }).catch(
    () => null,
  );
  for (const [, ...literals] of seen?.code.matchAll(COMPUTED) ?? []) {
    const prefix = literals.find((literal) => literal !== undefined) ?? '';
    if (!/^\.\.?\//.test(prefix)) continue;
    const folder = path.resolve(path.dirname(file), prefix.slice(0, prefix.lastIndexOf('/') + 1));
    if (prefix.includes('\\') || !isInside(realPathOf(folder), home)) return 'a computed import leaves';
    if (!(await isPlainTree(home, folder))) return 'a computed import finds more than own files and folders in';
  }
  return null;
}

/** Without links to other folders, which lead anywhere, and not endless. */
async function isPlainTree(home: string, top: string): Promise<boolean> {
  const folders = [top];
  let left = MOST_ENTRIES;
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    if ((await oddDescription(home, folder)) !== null) return false;
    for (const entry of await readdir(folder, { withFileTypes: true }).catch(nothingIn)) {
      left -= 1;
      if (left < 0) return false;
      const place = path.join(folder, entry.name);
      if (entry.isDirectory() && entry.name !== 'node_modules') folders.push(place);
      if (entry.isSymbolicLink() && (await stat(place).catch(() => null))?.isDirectory()) return false;
    }
  }
  return true;
}

/** What cannot be listed brings in nothing, unless it can be later. */
function nothingIn(error: unknown): readonly never[] {
  if (lacksRoom(error)) throw error;
  return [];
}

/** A reader of sources, a person or a program, stops at such a byte: what lies behind it would run unseen. */
function noText(file: string, bytes: Buffer, at: number): OnLoadResult {
  const line = bytes.subarray(0, at).toString().split('\n').length;
  return { errors: [{ text: `is not text at byte ${at}; write it as UTF-8 without NUL bytes`, location: { file, line } }] };
}

function refusal(text: string): OnLoadResult {
  return { errors: [{ text, detail: FORBIDDEN, notes: [{ text: WHAT_MAY }] }] };
}
