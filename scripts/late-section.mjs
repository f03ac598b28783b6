import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';

const LATE_IMPORT = /(?<!typeof )\bimport\('(\.[^']*)'\)/g;

/**
 * Puts all that the sources below `folder` import late into one more file, evaluated module by module. Of itself esbuild makes a file
 * of each late import and of whatever several of them share: dozens, and Node takes longer to find and open them than to compile them.
 */
export async function lateSection(folder) {
  const names = new Set();
  const nameOf = (file, imported) =>
    path
      .relative(folder, path.resolve(path.dirname(file), imported))
      .split(path.sep)
      .join('/');
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const file = path.join(entry.parentPath ?? entry.path, entry.name);
    if (!file.endsWith('.ts') || file.includes('node_modules')) continue;
    for (const [, imported] of (await readFile(file, 'utf8')).matchAll(LATE_IMPORT)) names.add(nameOf(file, imported));
  }
  const modules = [...names].sort().map((name) => `'${name}': () => require('./${name}'),`);
  return {
    /** A source with its late imports led to the section. */
    rewrite: (source, file) =>
      source.replace(LATE_IMPORT, (_, imported) => `import('late-section').then(({ modules }) => modules['${nameOf(file, imported)}']())`),
    plugin: {
      name: 'late-section',
      setup(build) {
        build.onResolve({ filter: /^late-section$/ }, () => ({ path: 'late', namespace: 'late-section' }));
        build.onLoad({ filter: /.*/, namespace: 'late-section' }, () => ({
          contents: `export const modules = {\n${modules.join('\n')}\n};`,
          resolveDir: folder,
        }));
      },
    },
  };
}
