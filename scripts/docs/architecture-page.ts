import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { drawMap, type Box } from './architecture-map.ts';

/** Where each module of core is on the map (row from the top, first and last column), and what it is for. */
const CORE: ReadonlyMap<string, readonly [row: number, first: number, last: number, purpose: string]> = new Map([
  ['cli', [0, 0, 1, 'the `pith` command: core commands, help, `serve` and its supervisor']],
  ['testing', [0, 2, 2, '`pith/testing`: the real kernel on a temporary sandbox, a scripted model, a fake clock']],
  ['embed', [0, 3, 3, '`pith/embed`: a kernel within a program, as a guest that reads and writes what the program names']],
  ['compose', [1, 0, 3, 'the one place that knows every part and puts them together']],
  ['agent', [2, 2, 3, 'agents and turns: registry, prompt, contexts, tools, gate, approvals, threads']],
  ['durable', [3, 2, 2, 'events that survive a crash: journal, deliveries, schedules']],
  ['loader', [4, 0, 0, 'bundles of extensions by the digest of their sources']],
  ['process', [4, 1, 1, 'extensions in separate processes: frames, limits, confinement, ending']],
  ['store', [4, 2, 2, 'the SQLite file: one writer, leases, values by key']],
  ['models', [4, 3, 3, 'references to models, choice of a default, retry']],
  ['kernel', [5, 0, 3, 'lifecycle, calls, providers, reload, events in memory']],
  ['declarations', [6, 0, 3, 'what manifests, agents and settings declare, read without running any of it']],
  ['trust', [7, 0, 3, 'whose a sandbox, its state and its manifests are; secrets and who is given one']],
  ['contract', [8, 0, 4, 'all that an extension may import, as `pith`']],
]);
const EXTENSIONS_COLUMN = 4;
const PACKAGES_ROW = 9;

interface Module {
  readonly name: string;
  readonly lines: number;
  readonly purpose: string;
  readonly uses: ReadonlySet<string>;
}

/** Imports between source files, type imports too; paths are relative to the root. */
export function importsOf(root: string): ReadonlyMap<string, readonly string[]> {
  const files = ['core', 'packages', 'sandbox/extensions'].flatMap((folder) => sourcesBelow(root, folder));
  const known = new Set(files);
  const found = (from: string, name: string): string[] => {
    const target = name.startsWith('.') ? path.posix.join(path.posix.dirname(from), name) : entryOf(root, name);
    return target !== null && known.has(target) ? [target] : [];
  };
  return new Map(
    files.map((file) => {
      const names = readFileSync(path.join(root, file), 'utf8').matchAll(/^(?:import|export)\b[^;']*'([^']+)'|\bimport\(\s*'([^']+)'/gm);
      return [file, [...names].flatMap(([, named, called]) => found(file, named ?? called ?? ''))];
    }),
  );
}

/** The page, whose tables are between marks, and the map that it shows. */
export function architecturePage(root: string): readonly (readonly [file: string, text: string])[] {
  const modules = modulesOf(root);
  const old = readIfThere(path.join(root, 'docs/architecture.md'));
  const shown = new Map(modules.map(({ name, lines }) => [name, figure(old, name, lines)]));
  const table = (kind: string, folder: string): string => {
    const rows = modules.filter(({ name }) => name.startsWith(kind));
    const row = ({ name, purpose }: Module): string =>
      `| [\`${name.slice(kind.length)}\`](../${folder}${name.slice(kind.length)}) | ${shown.get(name)} | ${purpose} |`;
    return ['| module | lines | for |', '|---|---|---|', ...rows.map(row)].join('\n');
  };
  const texts = new Map([
    ['core', table('core/', 'core/')],
    ['packages', table('packages/', 'packages/')],
    ['extensions', table('extensions/', 'sandbox/extensions/')],
  ]);
  const page = old.replace(/(<!-- ([a-z]+):start -->\n)[^]*?(<!-- \2:end -->)/g, (_, start: string, name: string, end: string) =>
    [start, texts.get(name) ?? '', '\n', end].join(''),
  );
  return [
    ['docs/architecture.md', page],
    ['docs/architecture.svg', drawMap(boxesOf(modules, shown))],
  ];
}

function modulesOf(root: string): readonly Module[] {
  const modules = new Map<string, { lines: number; uses: Set<string> }>();
  for (const [file, targets] of importsOf(root)) {
    const name = moduleOf(file);
    const module = modules.get(name) ?? { lines: 0, uses: new Set() };
    modules.set(name, module);
    module.lines += readFileSync(path.join(root, file), 'utf8').split('\n').length - 1;
    for (const target of targets) if (moduleOf(target) !== name) module.uses.add(moduleOf(target));
  }
  const order = [...CORE.keys()].map((name) => `core/${name}`);
  const place = (name: string): number => (order.includes(name) ? order.indexOf(name) : order.length);
  return [...modules]
    .sort(([a], [b]) => place(a) - place(b) || (a < b ? -1 : 1))
    .map(([name, { lines, uses }]) => ({ name, lines, uses, purpose: purposeOf(root, name) }));
}

function purposeOf(root: string, name: string): string {
  const [kind, id = ''] = name.split('/');
  if (kind === 'core') return CORE.get(id)?.[3] ?? '';
  const file = kind === 'packages' ? `packages/${id}/package.json` : `sandbox/extensions/${id}/manifest.yaml`;
  const { description = '' } = parse(readIfThere(path.join(root, file))) as { description?: string };
  return description.replace(/\.$/, '').replaceAll('|', '\\|');
}

/** `core/kernel`, `packages/text`, `extensions/kv`. */
function moduleOf(file: string): string {
  const parts = file.replace(/^sandbox\//, '').split('/');
  return file === 'core/main.ts' ? 'core/cli' : `${parts[0]}/${(parts[1] ?? '').replace(/\.ts$/, '')}`;
}

function boxesOf(modules: readonly Module[], shown: ReadonlyMap<string, string>): readonly Box[] {
  const packages = modules.filter(({ name }) => name.startsWith('packages/'));
  const extensions = modules.filter(({ name }) => name.startsWith('extensions/'));
  const width = EXTENSIONS_COLUMN + 1;
  const size = (name: string): Box['lines'] => [[`${shown.get(name)} lines`]];
  const box = ({ name, uses }: Module): readonly Box[] => {
    const [row, first, last] = CORE.get(name.slice('core/'.length)) ?? [];
    if (row === undefined || first === undefined || last === undefined) return [];
    return [{ name, uses, row, rows: 1, first, last: last + 1, lines: size(name) }];
  };
  return [
    ...modules.flatMap(box),
    ...packages.map(({ name, uses }, index) => {
      const [first, last] = [(index * width) / packages.length, ((index + 1) * width) / packages.length];
      const row = PACKAGES_ROW + ([...uses].some((other) => other.startsWith('packages/')) ? 0 : 1);
      return { name, uses, row, rows: 1, first, last, lines: size(name) };
    }),
    {
      name: 'extensions',
      uses: new Set(extensions.flatMap(({ uses }) => [...uses].filter((used) => !used.startsWith('extensions/')))),
      row: 0,
      rows: 7,
      first: EXTENSIONS_COLUMN,
      last: EXTENSIONS_COLUMN + 1,
      lines: extensions.map(({ name }) => [name.slice('extensions/'.length), shown.get(name)]),
    },
  ];
}

/** Lines to the hundred. The figure of the page stays while it is off by less than a tenth, so that few commits change the page. */
function figure(page: string, name: string, lines: number): string {
  const rounded = lines < 100 ? Math.max(10, Math.round(lines / 10) * 10) : Math.round(lines / 100) * 100;
  const written = new RegExp(`^\\| \\[[^\\]]*\\]\\(\\.\\./(?:sandbox/)?${name}\\) \\| ([\\d,]+) \\|`, 'm').exec(page)?.[1];
  const before = Number(written?.replace(',', ''));
  return (Math.abs(before - lines) < lines / 10 ? before : rounded).toLocaleString('en');
}

/** The file behind `pith`, `pith/<id>` or a package of the workspace; null: not in this repository. */
function entryOf(root: string, name: string): string | null {
  if (name === 'pith') return 'core/contract/index.ts';
  if (name === 'pith/testing' || name === 'pith/embed') return `core/${name.slice('pith/'.length)}/index.ts`;
  const id = /^pith\/(\w+)$/.exec(name)?.[1];
  if (id !== undefined) return `sandbox/extensions/${id}/contract.ts`;
  const folder = ['packages', name.replace(/^@?pith[/-]/, '')].join('/');
  return existsSync(path.join(root, folder)) ? `${folder}/index.ts` : null;
}

function sourcesBelow(root: string, folder: string): readonly string[] {
  if (!existsSync(path.join(root, folder))) return [];
  return readdirSync(path.join(root, folder), { withFileTypes: true })
    .filter(({ name }) => name !== 'node_modules' && !name.startsWith('.'))
    .flatMap((entry) => {
      const file = `${folder}/${entry.name}`;
      if (entry.isDirectory()) return sourcesBelow(root, file);
      return file.endsWith('.ts') ? [file] : [];
    })
    .sort();
}

function readIfThere(file: string): string {
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
}
