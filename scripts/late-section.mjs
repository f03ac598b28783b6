import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';

const LATE_IMPORT = /(?<!typeof )\bimport\('(\.[^']*)'\)/g;

/**
 * Puts all that the sources below `folder` import late into one more file, evaluated module by module. Of itself esbuild makes a file
 * of each late import and of whatever several of them share: dozens, and Node takes longer to find and open them than to compile them.
 * `often`: what most runs import; it has a file apart from the rest, which is read through only by those that need something of it.
 */
export async function lateSection(folder, often = []) {
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
  const sections = { often: often.filter((name) => names.has(name)), rest: [...names].filter((name) => !often.includes(name)).sort() };
  const sectionOf = (name) => `late-${often.includes(name) ? 'often' : 'rest'}`;
  const late = (name) => `import('${sectionOf(name)}').then(({ modules }) => modules['${name}']())`;
  return {
    /** A source with its late imports led to the sections. */
    rewrite: (source, file) => source.replace(LATE_IMPORT, (_, imported) => late(nameOf(file, imported))),
    plugin: {
      name: 'late-section',
      setup(build) {
        build.onResolve({ filter: /^late-(?:often|rest)$/ }, ({ path: name }) => ({ path: name.slice('late-'.length), namespace: 'late' }));
        build.onLoad({ filter: /.*/, namespace: 'late' }, ({ path: section }) => ({
          contents: `export const modules = {\n${sections[section].map((name) => `'${name}': () => require('./${name}'),`).join('\n')}\n};`,
          resolveDir: folder,
        }));
      },
    },
  };
}
