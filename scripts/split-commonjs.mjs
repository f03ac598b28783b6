import { build, transform } from 'esbuild';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';

const URL_OF_FILE = "const __url = require('node:url').pathToFileURL(__filename).href;";

/** Only of files made here: what extensions are made of elsewhere are ES modules, which `require` cannot load. */
const OWN_IMPORT = /\bimport\(("\.\/[^"]+\.cjs")\)/g;

/**
 * Bundles as CommonJS files that share what they have in common and load late what is imported late. esbuild splits only ES modules,
 * so each file is made an ES module first and then turned into CommonJS. Not left as ES modules, because Node links these file by
 * file, with several waits each. Not one file, because Node reads through all of a file before it runs any of it.
 */
export async function buildSplit(options) {
  const { metafile, outputFiles } = await build({
    ...options,
    banner: {},
    format: 'esm',
    splitting: true,
    outExtension: { '.js': '.cjs' },
    chunkNames: '[name]-[hash]',
    define: { 'import.meta.url': '__url' },
    sourcemap: options.sourcemap === false ? false : 'inline',
    sourcesContent: false,
    metafile: true,
    write: false,
  });
  await mkdir(options.outdir, { recursive: true });
  await Promise.all(outputFiles.map(({ path: file, text }) => writeCommonJs(file, text, options)));
  return { metafile };
}

async function writeCommonJs(file, text, { banner, minifySyntax, minifyWhitespace, minifyIdentifiers, target, sourcemap }) {
  const { code, map } = await transform(text.replace(OWN_IMPORT, 'Promise.resolve().then(() => require($1))'), {
    format: 'cjs',
    platform: 'node',
    target,
    banner: `${text.includes('__url') ? URL_OF_FILE : ''}${banner?.js ?? ''}`,
    minifySyntax,
    minifyWhitespace,
    minifyIdentifiers,
    legalComments: 'none',
    sourcefile: path.basename(file),
    sourcemap: sourcemap === false ? false : 'external',
    sourcesContent: false,
  });
  await mkdir(path.dirname(file), { recursive: true });
  if (!map) return writeFile(file, code);
  await writeFile(`${file}.map`, map);
  await writeFile(file, `${code}//# sourceMappingURL=${path.basename(file)}.map\n`);
}
