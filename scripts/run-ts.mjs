// Runs one TypeScript file of this repository: bundles it to a temporary module and imports that.
import { build } from 'esbuild';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const [entry, ...rest] = process.argv.slice(2);
if (!entry) {
  process.stderr.write('usage: node scripts/run-ts.mjs FILE [ARGUMENT…]\n');
  process.exit(2);
}
process.argv.splice(1, process.argv.length, path.resolve(entry), ...rest);
process.env.PITH_REPOSITORY = root;

const extensions = path.join(root, 'sandbox/extensions');
const contracts = Object.fromEntries(
  (await readdir(extensions)).map((id) => [`pith/${id}`, path.join(extensions, id, 'contract.ts')]).filter(([, file]) => existsSync(file)),
);

// Inside node_modules, so that the packages left outside the bundle are found.
const directory = await mkdtemp(path.join(root, 'node_modules', '.run-ts-'));
try {
  const outfile = path.join(directory, 'entry.mjs');
  await build({
    absWorkingDir: root,
    entryPoints: [entry],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    packages: 'external',
    alias: {
      ...contracts,
      'pith/testing': path.join(root, 'core/testing/index.ts'),
      pith: path.join(root, 'core/contract/index.ts'),
      '@pith': path.join(root, 'packages'),
    },
    tsconfig: path.join(root, 'tsconfig.json'),
    sourcemap: 'inline',
    logLevel: 'warning',
  });
  await import(pathToFileURL(outfile).href);
} finally {
  await rm(directory, { recursive: true, force: true });
}
