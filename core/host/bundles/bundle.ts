import path from 'node:path';
import type { BuildFailure, BuildOptions, Message } from 'esbuild';
import { contractShim } from './contract-shim.ts';
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
  /** Where the files go: one for each entry, and what they share or import later in files of its own. */
  readonly outdir: string;
}

/** Bundles entries with their packages, for the build. Returns the file name of each entry. */
export async function bundleShipped(request: ShippedBundleRequest): Promise<ReadonlyMap<string, string>> {
  const { build } = await import('esbuild');
  const { outputs } = (
    await build({
      ...(await common({ ...request, bundlePackages: true })),
      entryPoints: request.entries.map((entry) => path.join(request.directory, entry)),
      outdir: request.outdir,
      outExtension: { '.js': '.mjs' },
      // A chunk apart for what is imported late: who only lists parses neither zod nor yaml.
      splitting: true,
      entryNames: '[name]-[hash]',
      chunkNames: 'chunk-[hash]',
      conditions: ['module'],
      minifySyntax: true,
      minifyWhitespace: true,
      metafile: true,
      banner: { js: REQUIRE },
    })
  ).metafile;
  return new Map(
    Object.entries(outputs).flatMap(([file, { entryPoint }]) => (entryPoint ? [[entryPoint, path.basename(file)] as const] : [])),
  );
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
    plugins: [await contractShim(), ...(rules.bundlePackages ? [englishOnly] : []), importRules(rules)],
  } as const satisfies BuildOptions;
}

/** Packages in the old module format use what such modules have. */
const REQUIRE = [
  "import { createRequire as __createRequire } from 'node:module';",
  "import { fileURLToPath as __fileURLToPath } from 'node:url';",
  'const require = __createRequire(import.meta.url);',
  "const __filename = __fileURLToPath(import.meta.url), __dirname = __fileURLToPath(new URL('.', import.meta.url));",
].join('');

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
