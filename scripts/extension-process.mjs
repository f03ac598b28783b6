import { build } from 'esbuild';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));

/** Makes `dist/process`: what the process of an extension runs. A file to start with, and one with zod that is read when it is used. */
export async function setup() {
  await build({
    absWorkingDir: root,
    entryPoints: { main: 'core/host/process/child/main.ts' },
    outdir: path.join(root, 'dist', 'process'),
    outExtension: { '.js': '.mjs' },
    chunkNames: 'chunks/[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    tsconfig: path.join(root, 'tsconfig.json'),
    conditions: ['module'],
    external: ['esbuild'],
    // The parser of prompts is in the old module format and asks for a part of Node.
    banner: { js: "import { createRequire as __createRequire } from 'node:module';const require = __createRequire(import.meta.url);" },
    minifySyntax: true,
    minifyWhitespace: true,
    sourcemap: false,
    legalComments: 'none',
    logLevel: 'warning',
    plugins: [englishOnly],
  });
}

/** zod brings its messages in fifty languages, half of its size. */
const englishOnly = {
  name: 'english-only',
  setup(builder) {
    builder.onLoad({ filter: /zod\/v4\/locales\/index\.js$/ }, () => ({
      contents: "export { default as en } from './en.js';",
      loader: 'js',
    }));
  },
};
