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
      'ship-extensions': 'core/host/ship-extensions.ts',
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
    // Packages in the old module format call `require` for what node brings.
    banner: { js: "import { createRequire as __createRequire } from 'node:module';const require = __createRequire(import.meta.url);" },
    minifySyntax: true,
    minifyWhitespace: true,
    keepNames: false,
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
