import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/** Packages that many command lines never need: a file each in `dist/packages`, read when something of it is used. */
export const LATE_PACKAGES = ['zod', 'yaml', 'nunjucks/src/parser.js', 'chokidar', '@ai-sdk/anthropic', '@ai-sdk/openai-compatible'];

/** Parts of Node that take milliseconds to load and that many command lines never need. */
const LATE_BUILTINS = [
  'node:child_process',
  'node:crypto',
  'node:fs/promises',
  'node:net',
  'node:readline',
  'node:readline/promises',
  'node:timers/promises',
  'node:v8',
  'node:worker_threads',
  'node:zlib',
];

/**
 * Imports of these are evaluated when something imported is first used, not when the file is loaded that imports it. `packages`: the
 * way from the bundle's folder to `dist/packages`.
 */
export function lateImports(packages) {
  return {
    name: 'late-imports',
    setup(build) {
      build.onResolve({ filter: new RegExp(`^(?:${LATE_PACKAGES.join('|')})$`) }, ({ path, kind }) => ({
        path,
        namespace: kind === 'dynamic-import' ? 'awaited-package' : 'late-package',
      }));
      build.onResolve({ filter: new RegExp(`^(?:${LATE_BUILTINS.join('|')})$`) }, ({ path, namespace }) =>
        namespace === 'late-builtin' ? { path, external: true } : { path, namespace: 'late-builtin', sideEffects: false },
      );
      build.onResolve({ filter: /\/packages\//, namespace: 'late-package' }, ({ path }) => ({ path, external: true }));
      build.onResolve({ filter: /\/packages\//, namespace: 'awaited-package' }, ({ path }) => ({ path, external: true }));
      build.onLoad({ filter: /.*/, namespace: 'late-package' }, ({ path }) => ({
        contents: `module.exports = require('${packages}/${path}.cjs');`,
      }));
      // Who awaits the import has waited enough; and an ES module, so that its names are known.
      build.onLoad({ filter: /.*/, namespace: 'awaited-package' }, ({ path }) => ({
        contents: [
          `const whole = require('${packages}/${path}.cjs');`,
          `export default whole.default ?? whole;`,
          ...namesOf(path).map((name) => `const $${name} = whole.${name}; export { $${name} as ${name} };`),
        ].join('\n'),
      }));
      build.onLoad({ filter: /.*/, namespace: 'late-builtin' }, ({ path }) => ({
        contents: `for (const name of '${namesOf(path).join(' ')}'.split(' '))
          Object.defineProperty(exports, name, { enumerable: true, get: () => require('${path}')[name] });`,
      }));
    },
  };
}

function namesOf(name) {
  return Object.keys(require(name)).filter((each) => each !== 'default' && each !== '__esModule');
}
