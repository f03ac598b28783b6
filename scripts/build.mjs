// Builds dist/: the command line and the contract as one code-split bundle with its npm packages, the shipped
// extensions as one file each, and the declarations that extension authors' editors read.
import { build } from 'esbuild';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const dist = path.join(root, 'dist');
const started = performance.now();

/** zod brings its messages in fifty languages, half of its size; start-up pays for each byte. */
const englishOnly = {
  name: 'english-only',
  setup(builder) {
    builder.onLoad({ filter: /zod\/v4\/locales\/index\.js$/ }, () => ({ contents: "export { default as en } from './en.js';", loader: 'js' }));
  },
};

await rm(dist, { recursive: true, force: true });
const declarations = emitDeclarations();
await bundleCore();
await bundleExtensions();
await declarations;
process.stdout.write(`pith: built dist/ in ${((performance.now() - started) / 1000).toFixed(1)} s\n`);

async function bundleCore() {
  await build({
    absWorkingDir: root,
    entryPoints: {
      main: 'core/main.ts',
      'core/contract/index': 'core/contract/index.ts',
      'core/testing/index': 'core/testing/index.ts',
      'ship-extensions': 'core/host/bundles/ship-extensions.ts',
    },
    outdir: dist,
    outExtension: { '.js': '.js' },
    chunkNames: 'chunks/[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    tsconfig: path.join(root, 'tsconfig.json'),
    conditions: ['module'],
    // Native code and compilers stay packages: they find files beside themselves.
    external: ['@photostructure/sqlite', 'esbuild', 'typescript'],
    // Packages in the old module format use what such modules have.
    banner: {
      js: "import { createRequire as __createRequire } from 'node:module';import { fileURLToPath as __fileURLToPath } from 'node:url';const require = __createRequire(import.meta.url), __filename = __fileURLToPath(import.meta.url), __dirname = __fileURLToPath(new URL('.', import.meta.url));",
    },
    plugins: [englishOnly],
    minifySyntax: true,
    minifyWhitespace: true,
    sourcemap: 'linked',
    sourcesContent: false,
    legalComments: 'none',
    logLevel: 'warning',
  });
}

/** By the same code that bundles other people's extensions, so that digests agree. */
async function bundleExtensions() {
  const { shipExtensions } = await import(pathToFileURL(path.join(dist, 'ship-extensions.js')).href);
  await shipExtensions({ packageRoot: root });
}

async function emitDeclarations() {
  const compiler = createRequire(import.meta.url).resolve('typescript/bin/tsc');
  if (!existsSync(compiler)) return;
  const run = promisify(execFile);
  try {
    await run(process.execPath, [compiler, '-p', path.join(root, 'tsconfig.build.json')], { cwd: root });
  } catch (error) {
    throw new Error(`declarations: ${error.stdout || error.message}`, { cause: error });
  }
}
