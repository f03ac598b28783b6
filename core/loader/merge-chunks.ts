import path from 'node:path';
import type { BuildOptions, Metafile, Plugin } from 'esbuild';
import { CONTRACT_INPUT } from './contract-shim.ts';

/** The outputs of a graph by their path in the folder, and what they import so. */
export type Outputs = Metafile['outputs'];

/** What is loaded together: outputs, each with all that it imports at once. */
export type Starts = Readonly<Record<string, readonly string[]>>;

const MERGED = 'merged-chunk';

/**
 * Makes few files of a graph that was written to `from`: the bundler makes a chunk for each set of entries that share something, hundreds for
 * fifty entries, and on the way of a message a file costs as much as 15 kB of code. Chunks that the same `starts` load become one.
 * What is imported later stays a file of its own, and so do entries, which are evaluated afresh at a reload.
 */
export function mergedChunks(
  from: string,
  outputs: Outputs,
  starts: Starts,
): Pick<BuildOptions, 'bundle' | 'packages' | 'entryPoints' | 'plugins'> {
  const groups = groupsOf(outputs, starts);
  const imports = Object.values(outputs).flatMap((output) => output.imports);
  const later = new Set(imports.flatMap((each) => (each.kind === 'dynamic-import' ? [each.path] : [])));
  const kept = Object.keys(outputs).filter((file) => file.endsWith('.mjs') && (!groups.has(file) || later.has(file)));
  const entries = [
    ...kept.map((file) => [file, groups.has(file) ? `./${path.posix.basename(file)}` : path.join(from, file)] as const),
    ...[...new Set(groups.values())].map((group) => [`chunks/${group}.mjs`, group] as const),
  ];
  return {
    bundle: true,
    packages: 'external',
    entryPoints: entries.map(([file, source]) => ({
      in: path.isAbsolute(source) ? source : `${MERGED}:${source}`,
      out: file.slice(0, -'.mjs'.length),
    })),
    plugins: [merging(from, outputs, groups)],
  };
}

/** By chunk: the name of the one that it becomes part of, which says what loads it. What needs the contract of a host is apart from what the host itself loads. */
function groupsOf(outputs: Outputs, starts: Starts): ReadonlyMap<string, string> {
  const by = new Map<string, string[]>();
  for (const [start, files] of Object.entries(starts))
    for (const file of loadedWith(files, outputs))
      if (file.startsWith('chunks/')) by.set(file, [...(by.get(file) ?? ownerIn(file)), start]);
  const isBound = (file: string) => Object.hasOwn(outputs[file]?.inputs ?? {}, CONTRACT_INPUT);
  return new Map(
    [...by].map(([file, names]) => [file, [...names, ...([...loadedWith([file], outputs)].some(isBound) ? ['bound'] : [])].join('-')]),
  );
}

/** With themselves. */
function loadedWith(files: readonly string[], outputs: Outputs): ReadonlySet<string> {
  const loaded = new Set<string>();
  const load = (file: string): void => {
    if (loaded.has(file) || !(file in outputs)) return;
    loaded.add(file);
    for (const each of outputs[file]?.imports ?? []) if (each.kind === 'import-statement') load(each.path);
  };
  files.forEach(load);
  return loaded;
}

/** What is one extension's stays so by name. */
function ownerIn(file: string): readonly string[] {
  const [, owner] = /^chunks\/(\w+)\.[^.]+\.mjs$/.exec(file) ?? [];
  return owner === undefined ? [] : [`${owner}.shared`];
}

function merging(from: string, outputs: Outputs, groups: ReadonlyMap<string, string>): Plugin {
  const members = [...groups.keys()];
  const nameOf = (file: string) => path.relative(from, file).replaceAll(path.sep, '/');
  /** Of one member; `[name, name outside]`. */
  const namesIn = (file: string) => (outputs[file]?.exports ?? []).map((name) => [name, `${name}_${members.indexOf(file)}`] as const);
  const reexport = (names: readonly string[], file: string) => `export { ${names.join(', ')} } from ${JSON.stringify(file)};`;
  return {
    name: 'merge-chunks',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: new RegExp(`^${MERGED}:`) }, ({ path: wanted }) => ({
        path: wanted.slice(MERGED.length + 1),
        namespace: MERGED,
      }));
      onResolve({ filter: /\.mjs$/, namespace: MERGED }, ({ path: wanted }) => ({
        path: wanted,
        external: !path.isAbsolute(wanted),
        sideEffects: true,
      }));
      onResolve({ filter: /^\.\.?\/.*\.mjs$/, namespace: 'file' }, ({ path: wanted, importer, kind }) => {
        const target = path.resolve(path.dirname(importer), wanted);
        const group = groups.get(nameOf(target));
        if (group === undefined || kind === 'dynamic-import') return { path: wanted, external: true };
        if (groups.get(nameOf(importer)) === group) return { path: target, sideEffects: true };
        return { path: wanted, namespace: MERGED, sideEffects: true };
      });
      // A path stands for the member as others see it, a name for the whole.
      onLoad({ filter: /.*/, namespace: MERGED }, ({ path: wanted }) => {
        const member = `chunks/${path.posix.basename(wanted)}`;
        const group = groups.get(member);
        if (group !== undefined) {
          const names = namesIn(member).map(([name, outside]) => `${outside} as ${name}`);
          return { contents: reexport(names, `${path.posix.dirname(wanted)}/${group}.mjs`), resolveDir: from };
        }
        const parts = members.filter((file) => groups.get(file) === wanted);
        const lines = parts.map((file) =>
          reexport(
            namesIn(file).map(([name, outside]) => `${name} as ${outside}`),
            path.join(from, file),
          ),
        );
        return { contents: lines.join('\n'), resolveDir: from };
      });
    },
  };
}
