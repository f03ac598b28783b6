import { isBelow } from '@pith/safe-files';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import type { BroughtExtensions } from '../contract/index.ts';
import { type Declaration, shortId } from '../declarations/index.ts';
import { Problem } from '../kernel/index.ts';
import type { Manifest } from '../trust/index.ts';
import { bundle, type BundleRequest } from './bundle.ts';

type BroughtCode = NonNullable<Declaration['brought']>;

/** The name of the generated entry module; there is no such file. */
export const BROUGHT_ENTRY = 'brought.js';

/** What declares it, as a folder declares others: it asks for nothing. `directory` is a real path. */
export function broughtDeclaration(
  { id, directory, file, entry, modules }: Parameters<BroughtExtensions['open']>[0],
  by: string,
  digest: string,
): Declaration {
  const manifest = { ...MANIFEST, id, name: id };
  return { id, directory, file, manifest, prompt: null, shipped: false, digest, diagnostics: [], brought: { by, entry, modules } };
}

const MANIFEST: Omit<Manifest, 'id' | 'name'> = {
  version: '0.0.0',
  description: '',
  entrypoint: BROUGHT_ENTRY,
  provides: ['tool'],
  defines: { protocols: {}, topics: {} },
  depends_on: [],
  optional_depends_on: [],
  isolation: 'process',
  permissions: { network: false, read: [], write: [], agents: [] },
  enabled: true,
  config: {},
  secrets: [],
  commands: [],
  switches: [],
  models: [],
  agent_keys: [],
  agent_files: [],
  claims: [],
  events: { publishes: [], handles: [] },
  schedules: [],
  setup_instructions: '',
};

export function digestOfText(modules: BroughtCode['modules'], text: string): string {
  return createHash('sha256').update(JSON.stringify(modules)).update(text).digest('hex');
}

type BroughtModule = Parameters<BroughtExtensions['open']>[0]['modules'][number];
type Request = Pick<BundleRequest, 'directory' | 'packageRoot' | 'file'>;

/**
 * All modules as one, which share what they import. One that cannot be bundled is left out with its reason; never throws for that.
 * `seen`: files that were read, and paths that were looked for; they may lie outside.
 */
export async function bundleBrought(
  request: Request,
  id: string,
  { by, entry, modules }: BroughtCode,
): Promise<{ readonly text: string; readonly seen: ReadonlySet<string> }> {
  const seen = new Set(modules.flatMap((module) => ('file' in module ? path.resolve(request.directory, module.file) : [])));
  const build = (of: readonly BroughtModule[]) =>
    bundle({
      ...request,
      entry: BROUGHT_ENTRY,
      text: `import make from 'pith/${by}';\nexport default await make(${JSON.stringify(shortId(id))}, [\n${of.map(textOf).join('\n')}\n]);\n`,
      owner: id.slice(0, id.indexOf(':')),
      contracts: { [by]: { file: entry } },
      seen: (file) => seen.add(file),
    });
  try {
    return { text: await build(modules), seen };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    // Which of them it was shows by bundling each alone.
    const whole = modules.map(async (module) => ('problem' in module ? module : { ...module, ...(await whyNot(build, module)) }));
    return { text: await build(await Promise.all(whole)), seen };
  }
}

async function whyNot(
  build: (of: readonly BroughtModule[]) => Promise<string>,
  module: BroughtModule,
): Promise<{ readonly problem: string } | null> {
  try {
    await build([module]);
    return null;
  } catch (error) {
    if (error instanceof Problem) return { problem: `${error.message}; ${error.cure ?? 'correct the source'}` };
    throw error;
  }
}

function textOf(module: BroughtModule): string {
  const { name } = module;
  if ('problem' in module) return `  ${JSON.stringify({ name, problem: module.problem })},`;
  return `  { name: ${JSON.stringify(name)}, load: () => import(${JSON.stringify(`./${module.file}`)}) },`;
}

/** What a bundle was made of when it was looked at last. */
export interface Sources {
  /** Of whose modules, made by which Pith. */
  readonly key: string;
  /** Names the bundle. */
  readonly digest: string;
  readonly watched: readonly string[];
  /** Empty where a further change could leave the same: then it is bundled again. */
  readonly stamps: string;
}

/** `began`: when bundling did. */
export function sourcesOf(
  directory: string,
  seen: Iterable<string>,
  { key, digest, began }: Pick<Sources, 'key' | 'digest'> & { readonly began: number },
): Sources {
  const watched = placesToWatch(directory, seen);
  const stamps = stampsOf(watched);
  return { key, digest, watched, stamps: isFresh(watched, began) ? '' : stamps };
}

/** One look at each place: no folder is walked. */
export function isUnchanged({ watched, stamps }: Sources): boolean {
  return stamps !== '' && stamps === stampsOf(watched);
}

/** Coarsest step in which file times advance, with room to spare. */
const TICK_NS = 20_000_000n;

/** Where a change may make another bundle: what was read, what was looked for, and the folders in which it lies. Sorted. */
function placesToWatch(home: string, seen: Iterable<string>): readonly string[] {
  const places = new Set<string>();
  for (const file of seen) {
    if (!isBelow(file, home)) continue; // what is outside is not for it to know
    places.add(file);
    let folder = path.dirname(file);
    while (folder !== home && !fs.existsSync(folder)) folder = path.dirname(folder);
    places.add(folder);
  }
  return [...places].sort();
}

/** Tells one state of these places from another without reading them: equal texts mean that nothing has changed. */
function stampsOf(places: readonly string[]): string {
  return JSON.stringify(places.map((place) => stampOf(statOf(place))));
}

/** Whether one of them was written so soon before that time, or since, that a further write could leave the same stamps. */
function isFresh(places: readonly string[], since: number): boolean {
  return places.some((place) => (statOf(place)?.ctimeNs ?? 0n) + TICK_NS >= BigInt(since) * 1_000_000n);
}

function statOf(place: string): fs.BigIntStats | undefined {
  try {
    return fs.lstatSync(place, { bigint: true, throwIfNoEntry: false });
  } catch {
    return undefined; // unreadable: nothing can be imported from it
  }
}

function stampOf(stat: fs.BigIntStats | undefined): string {
  return stat === undefined ? '' : `${stat.mode} ${stat.mtimeNs} ${stat.ctimeNs} ${stat.size} ${stat.ino}`;
}
