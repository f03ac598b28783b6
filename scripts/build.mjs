// Builds dist/: the command as files that load late what is needed late, the contract and its test kit as a code-split bundle, both with their npm packages;
// the shipped extensions; and the declarations that extension authors' editors read.
import { build } from 'esbuild';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { makeCodeCache } from './code-cache.mjs';
import { setup as bundleExtensionProcess } from './extension-process.mjs';
import { LATE_PACKAGES, lateImports } from './late-imports.mjs';
import { lateSection } from './late-section.mjs';
import { buildSplit } from './split-commonjs.mjs';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const dist = path.join(root, 'dist');
const started = performance.now();

/** zod brings its messages in fifty languages, half of its size; start-up pays for each byte. */
const englishOnly = {
  name: 'english-only',
  setup(builder) {
    builder.onLoad({ filter: /zod\/v4\/locales\/index\.js$/ }, () => ({
      contents: "export { default as en } from './en.js';",
      loader: 'js',
    }));
  },
};

/** @type {import('esbuild').BuildOptions} */
const common = {
  absWorkingDir: root,
  outdir: dist,
  bundle: true,
  platform: 'node',
  target: 'node20',
  tsconfig: path.join(root, 'tsconfig.json'),
  conditions: ['module'],
  // Native code and compilers stay packages: they find files beside themselves.
  external: ['@photostructure/sqlite', 'esbuild', 'typescript'],
  minifySyntax: true,
  minifyWhitespace: true,
  sourcemap: 'linked',
  sourcesContent: false,
  legalComments: 'none',
  logLevel: 'warning',
};

const CONTRACT_NOW = "export const contractNow = () => require('../../contract/index.ts');";

await rm(dist, { recursive: true, force: true });
const declarations = emitDeclarations();
await Promise.all([bundleCore(), bundleCommand(), bundlePackages(), bundleExtensionProcess()]);
await bundleExtensions();
await makeCodeCache(root);
await declarations;
process.stdout.write(`pith: built dist/ in ${((performance.now() - started) / 1000).toFixed(1)} s\n`);

async function bundleCore() {
  await build({
    ...common,
    entryPoints: {
      'core/contract/index': 'core/contract/index.ts',
      'core/testing/index': 'core/testing/index.ts',
      'ship-extensions': 'core/host/bundles/ship-extensions.ts',
    },
    chunkNames: 'chunks/[name]-[hash]',
    splitting: true,
    format: 'esm',
    // Packages in the old module format use what such modules have.
    banner: {
      js: "import { createRequire as __createRequire } from 'node:module';import { fileURLToPath as __fileURLToPath } from 'node:url';const require = __createRequire(import.meta.url), __filename = __fileURLToPath(import.meta.url), __dirname = __fileURLToPath(new URL('.', import.meta.url));",
    },
    plugins: [englishOnly],
  });
}

/** The `pith` command: a file that starts it, and one with the kernel and whatever else is imported late. */
async function bundleCommand() {
  const { rewrite, plugin } = await lateSection(path.join(root, 'core'), ['kernel.ts', 'cli/commands/index.ts', 'storage/cache-file.ts']);
  await buildSplit({
    ...common,
    entryPoints: { main: 'core/main.ts' },
    plugins: [
      lateImports('./packages'),
      plugin,
      {
        name: 'late-imports-of-core',
        setup(builder) {
          builder.onLoad({ filter: /[\\/]core[\\/].*\.ts$/ }, async ({ path: file }) => ({
            contents: file.endsWith('contract-now.ts') ? CONTRACT_NOW : rewrite(await readFile(file, 'utf8'), file),
            resolveDir: path.dirname(file),
            loader: 'ts',
          }));
        },
      },
    ],
  });
}

async function bundlePackages() {
  await build({
    ...common,
    entryPoints: Object.fromEntries(LATE_PACKAGES.map((name) => [`packages/${name}`, name])),
    format: 'cjs',
    outExtension: { '.js': '.cjs' },
    minify: true,
    sourcemap: false,
    plugins: [englishOnly],
  });
}

/** By the same code that bundles other people's extensions, so that digests agree. */
async function bundleExtensions() {
  const bundling = async (directory) => {
    const { rewrite, plugin } = await lateSection(directory);
    return { build: buildSplit, rewrite, plugins: [lateImports('../../packages'), plugin] };
  };
  const { shipExtensions } = await import(pathToFileURL(path.join(dist, 'ship-extensions.js')).href);
  await shipExtensions({ packageRoot: root, bundling });
}

async function emitDeclarations() {
  const compiler = path.join(path.dirname(createRequire(import.meta.url).resolve('esbuild/package.json')), '../typescript/bin/tsc');
  if (!existsSync(compiler)) return; // installed without the packages for development
  const run = promisify(execFile);
  try {
    await run(process.execPath, [compiler, '-p', path.join(root, 'tsconfig.build.json')], { cwd: root });
  } catch (error) {
    throw new Error(`declarations: ${error.stdout || error.message}`, { cause: error });
  }
}
