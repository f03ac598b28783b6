import path from 'node:path';
import type { BuildFailure, BuildOptions, Message, Plugin } from 'esbuild';
import { CONTRACT_BANNER, contractShim } from './contract-shim.ts';
import { englishOnly } from './english-only.ts';
import { FORBIDDEN, importRules, type ImportRules } from './import-rules.ts';
import { Problem } from '../problem.ts';

export interface BundleRequest extends Omit<ImportRules, 'bundlePackages'> {
  /** Relative to the directory. */
  readonly entry: string;
  /** Where the bundle will lie: its source map says where the sources are from there. */
  readonly file: string;
}

/** One module of an extension's own files for one entry. Throws a `Problem` of phase `bundle` that names file and line. */
export async function bundle(request: BundleRequest): Promise<string> {
  const { build } = await import('esbuild');
  try {
    const result = await build({
      ...(await common({ ...request, bundlePackages: false })),
      entryPoints: [path.join(request.directory, request.entry)],
      write: false,
      outfile: request.file,
      sourcemap: 'inline',
      sourcesContent: false,
    });
    return result.outputFiles[0]?.text ?? '';
  } catch (error) {
    throw isBuildFailure(error) ? problemOfBuild(error.errors[0], request) : error;
  }
}

export interface ShippedBundleRequest extends Omit<ImportRules, 'bundlePackages'> {
  /** Relative to the directory. */
  readonly entries: readonly string[];
  /** Where the files go, one for each entry. */
  readonly outdir: string;
  /** Packages that lie in `../../packages` beside it, read when they are used. */
  readonly latePackages: readonly string[];
}

/**
 * Bundles entries with their packages, for the build: a CommonJS file each, because Node links ES modules file by file. What is
 * imported late in there is evaluated late. Returns the file name of each entry.
 */
export async function bundleShipped(request: ShippedBundleRequest): Promise<ReadonlyMap<string, string>> {
  const { build } = await import('esbuild');
  const { plugins, ...rest } = await common({ ...request, bundlePackages: true });
  const { outputs } = (
    await build({
      ...rest,
      plugins: [latePackages(request.latePackages), ...plugins],
      entryPoints: request.entries.map((entry) => path.join(request.directory, entry)),
      outdir: request.outdir,
      format: 'cjs',
      outExtension: { '.js': '.cjs' },
      entryNames: '[name]-[hash]',
      conditions: ['module'],
      minifySyntax: true,
      minifyWhitespace: true,
      metafile: true,
      define: { 'import.meta.url': '__url' },
      banner: { js: `const __url = require('node:url').pathToFileURL(__filename).href;${CONTRACT_BANNER}` },
    })
  ).metafile;
  return new Map(
    Object.entries(outputs).flatMap(([file, { entryPoint }]) => (entryPoint ? [[entryPoint, path.basename(file)] as const] : [])),
  );
}

/** Behind a module of their own, so that `import(…)` of one is a plain require too. */
function latePackages(names: readonly string[]): Plugin {
  return {
    name: 'pith-late-packages',
    setup(build) {
      if (names.length > 0)
        build.onResolve({ filter: new RegExp(`^(?:${names.join('|')})$`) }, ({ path: name }) => ({ path: name, namespace: 'late' }));
      build.onResolve({ filter: /^\.\.\/\.\.\/packages\//, namespace: 'late' }, ({ path: file }) => ({ path: file, external: true }));
      build.onLoad({ filter: /.*/, namespace: 'late' }, ({ path: name }) => ({
        contents: `module.exports = require('../../packages/${name}.cjs');`,
      }));
    },
  };
}

async function common(rules: ImportRules) {
  return {
    absWorkingDir: rules.directory,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    logLevel: 'silent',
    legalComments: 'none',
    tsconfigRaw: { compilerOptions: { experimentalDecorators: true, target: 'ES2022', verbatimModuleSyntax: false } },
    plugins: [await contractShim({ lazy: rules.bundlePackages }), ...(rules.bundlePackages ? [englishOnly] : []), importRules(rules)],
  } as const satisfies BuildOptions;
}

function problemOfBuild(message: Message | undefined, { directory, entry }: BundleRequest): Problem {
  const place = message?.location;
  const file = place ? path.resolve(directory, place.file) : path.join(directory, entry);
  const where = `${path.relative(directory, file)}${place ? `:${place.line}` : ''}`;
  const prohibited = message?.detail === FORBIDDEN;
  return new Problem('bundle', prohibited ? FORBIDDEN : 'bundle_failed', `${where}: ${message?.text ?? 'could not be bundled'}`, {
    file,
    ...(place ? { line: place.line } : {}),
    cure: prohibited ? message?.notes[0]?.text : 'correct the source',
  });
}

function isBuildFailure(error: unknown): error is BuildFailure {
  return error instanceof Error && Array.isArray((error as Partial<BuildFailure>).errors);
}
