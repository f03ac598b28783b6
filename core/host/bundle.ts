import path from 'node:path';
import type { BuildFailure, Message } from 'esbuild';
import { contractShim } from './contract-shim.ts';
import { FORBIDDEN, importRules, type ImportRules } from './import-rules.ts';
import { Problem } from './problem.ts';

export interface BundleRequest extends ImportRules {
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
      absWorkingDir: request.directory,
      entryPoints: [path.join(request.directory, request.entry)],
      bundle: true,
      write: false,
      outfile: request.file,
      format: 'esm',
      platform: 'node',
      target: 'node20',
      conditions: request.bundlePackages ? ['module'] : [],
      sourcemap: request.bundlePackages ? false : 'inline',
      sourcesContent: false,
      logLevel: 'silent',
      legalComments: 'none',
      minifySyntax: request.bundlePackages,
      minifyWhitespace: request.bundlePackages,
      tsconfigRaw: { compilerOptions: { experimentalDecorators: true, target: 'ES2022', verbatimModuleSyntax: false } },
      plugins: [await contractShim(), importRules(request)],
      ...(request.bundlePackages ? { banner: { js: REQUIRE } } : {}),
    });
    return result.outputFiles[0]?.text ?? '';
  } catch (error) {
    throw isBuildFailure(error) ? problemOfBuild(error.errors[0], request) : error;
  }
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
