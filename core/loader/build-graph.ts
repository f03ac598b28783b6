import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Metafile, Plugin } from 'esbuild';
import { stateFolder } from '@pith/safe-files';
import { type Declaration, discover, isExtension, openIndex, RECORDS_FILE, recordsOf } from '../declarations/index.ts';
import type { ShippedIndex } from './bundle-store.ts';
import { contractShim } from './contract-shim.ts';

export interface Graph {
  readonly packageRoot: string;
  /** The folder of the build. */
  readonly folder: string;
  /** Pith's own entries: the name of each built file without `.mjs`, and its source. */
  readonly entries: Readonly<Record<string, string>>;
  /** Which extensions in Pith's own sandbox come with it; a person's own beside them do not. Default all. */
  readonly ships?: (id: string) => boolean;
}

/**
 * Builds Pith's own entries and those of all extensions that ship as one graph: what two of them import is there once, in `chunks`.
 * Lists the extensions by digest in `ext/index.json`, and keeps what the folders declare. For the build.
 */
export async function buildGraph({ packageRoot, folder, entries, ships = () => true }: Graph): Promise<void> {
  await mkdir(path.join(folder, 'ext'), { recursive: true });
  const sandbox = path.join(packageRoot, 'sandbox');
  const index = openIndex(stateFolder(folder, 'none')); // never saved
  const { declarations } = await discover({
    roots: [{ directory: sandbox, shipped: true }],
    agentPaths: [],
    index,
    isEnabled: () => true,
    at: 0,
  });
  const shipped = [...declarations.values()].filter(({ id, manifest }) => manifest?.entrypoint !== undefined && ships(id));
  const { build } = await import('esbuild');
  const { outputFiles, metafile } = await build({
    absWorkingDir: packageRoot,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    outExtension: { '.js': '.mjs' },
    minify: true,
    lineLimit: 120, // an error that nobody catches shows the line that throws it
    sourcemap: 'linked',
    sourcesContent: false,
    legalComments: 'none',
    logLevel: 'warning',
    bundle: true,
    splitting: true,
    tsconfig: path.join(packageRoot, 'tsconfig.json'),
    conditions: ['module'],
    // Native code and the bundler stay packages: they find files beside themselves.
    external: ['@photostructure/sqlite', 'esbuild'],
    banner: { js: OLD_NAMES },
    entryPoints: { ...entries, ...Object.fromEntries(shipped.flatMap(entriesOf)) },
    outdir: folder,
    chunkNames: 'chunks/[name]-[hash]',
    plugins: [englishOnly, await contractShim(), contractsOf(shipped)],
    metafile: true,
    write: false,
  });
  const renamed = namesByOwner(metafile);
  const name = (text: string) => text.replace(CHUNK, (found) => renamed.get(found) ?? found);
  for (const { path: file, text } of outputFiles) {
    const target = path.join(path.dirname(file), name(path.basename(file)));
    await mkdir(path.dirname(target), { recursive: true });
    await writeFile(target, name(withoutNeedless(text)));
  }
  const files: ShippedIndex = Object.fromEntries(shipped.map((declaration) => [declaration.id, filesOf(declaration)]));
  await writeFile(path.join(folder, 'ext', 'index.json'), `${JSON.stringify(files, null, 2)}\n`);
  const directories = [...declarations.values()].flatMap((each) => (isExtension(each) && !ships(each.id) ? [] : [each.directory]));
  await writeFile(path.join(folder, RECORDS_FILE), recordsOf(index, sandbox, directories));
}

function entriesOf({ id, directory, manifest }: Declaration): readonly (readonly [string, string])[] {
  return [manifest?.entrypoint ?? '', ...commandEntries(manifest)].map((entry) => [
    `ext/${id}/${withoutExtension(entry)}`,
    path.join(directory, entry),
  ]);
}

function filesOf({ id, digest, manifest }: Declaration): ShippedIndex[string] {
  const file = (entry: string) => `${id}/${withoutExtension(entry)}.mjs`;
  const commands = commandEntries(manifest).map((entry) => [entry, file(entry)] as const);
  return { digest, main: file(manifest?.entrypoint ?? ''), commands: Object.fromEntries(commands) };
}

function commandEntries(manifest: Declaration['manifest']): readonly string[] {
  return [...new Set((manifest?.commands ?? []).flatMap(({ entry }) => entry ?? []))];
}

function withoutExtension(entry: string): string {
  return entry.slice(0, entry.length - path.extname(entry).length);
}

/** Packages in the old module format use what such modules have. A line of its own: without it the source map holds. */
const OLD_NAMES =
  "import { createRequire as __createRequire } from 'node:module';import { fileURLToPath as __fileURLToPath } from 'node:url';const require = __createRequire(import.meta.url), __filename = __fileURLToPath(import.meta.url), __dirname = __fileURLToPath(new URL('.', import.meta.url));";

function withoutNeedless(text: string): string {
  if (!text.startsWith(OLD_NAMES)) return text;
  const rest = text.slice(OLD_NAMES.length);
  return /(?<![\w$.])(?:require|__filename|__dirname)(?![\w$])/.test(rest) ? text : rest;
}

/** As the bundler names them: its hash makes each name unlike any other text. */
const CHUNK = /[\w.-]+-[A-Z0-9]{8}(?=\.mjs)/g;

/** A chunk of one extension's files begins with its id, by which an error in a stack trace finds its owner. */
function namesByOwner({ outputs }: Metafile): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(outputs).flatMap(([file, { inputs }]) => {
      const owners = new Set(Object.keys(inputs).flatMap((input) => /^sandbox\/extensions\/([^/]+)\//.exec(input)?.[1] ?? []));
      const chunk = path.basename(file, '.mjs');
      return owners.size === 1 && /[\\/]chunks[\\/]/.test(file) ? [[chunk, `${[...owners][0]}.${chunk}`] as const] : [];
    }),
  );
}

/** Each `pith/<id>` of what an extension depends on is one module for all. */
function contractsOf(shipped: readonly Declaration[]): Plugin {
  return {
    name: 'pith-contracts',
    setup({ onResolve }) {
      onResolve({ filter: /^pith\// }, ({ path: wanted, importer }) => {
        const owner = shipped.find(({ directory }) => importer.startsWith(directory + path.sep));
        const contract = owner?.imports?.contracts[wanted.slice('pith/'.length)];
        return contract && { path: contract.file };
      });
    },
  };
}

/** zod brings its messages in fifty languages, half of its size; start-up pays for each byte. */
const englishOnly: Plugin = {
  name: 'english-only',
  setup(builder) {
    builder.onLoad({ filter: /zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({
      contents: "export { default as en } from './en.js';",
      loader: 'js',
    }));
  },
};
