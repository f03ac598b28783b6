import { messageOf, PithError } from 'pith';
import { didYouMean, printableLine, someOf } from '@pith/plain-text';
import { type Listing, type OriginEntry, readText } from './entry.ts';
import type { FoundSkill } from './found-skills.ts';
import { type Origin, originOf } from './origin.ts';

/** What one folder of an origin brings together, as Claude Code's plugins do. */
export interface Plugin {
  readonly name: string;
  readonly description: string;
  /** In this origin; empty for the top. */
  readonly folder: string;
  /** Where else it lies; null: in this origin. */
  readonly elsewhere: Origin | null;
  /** What its marketplace says of it. */
  readonly entry: Json;
  /** Folders of skills, or of folders of skills, in this origin; null: all that are in the plugin's. */
  readonly skills: readonly string[] | null;
  /** Files or folders of files, in this origin. */
  readonly commands: readonly string[];
  readonly agents: readonly string[];
  /** What else it has, for which Pith has no place. */
  readonly unsupported: readonly string[];
  /** Why it cannot be taken. */
  readonly problem: PithError | null;
}

type Json = Readonly<Record<string, unknown>>;

const MARK = '.claude-plugin';
const NOTHING = { description: '', elsewhere: null, entry: {}, skills: [], commands: [], agents: [], unsupported: [] } as const;
const MOST_BYTES = 512 * 1024;
const MOST = 2000;
const NAME = /^[\p{L}\p{N}][\p{L}\p{N} ._-]{0,63}$/u;

/** The plugins that a marketplace.json in `below` lists, or the one that a plugin.json makes of it; one with a problem where such a file cannot be used. */
export async function pluginsIn(listing: Listing, below: string): Promise<readonly Plugin[]> {
  try {
    return await listedIn(listing, below);
  } catch (error) {
    if (!(error instanceof PithError) || error.code !== 'plugin_invalid') throw error;
    return [{ ...NOTHING, name: MARK, folder: below, problem: error }];
  }
}

/** A plugin that lies elsewhere, once that is open. What its marketplace says of it counts there too. */
export async function pluginThere(listing: Listing, { entry, elsewhere }: Plugin): Promise<Plugin> {
  return pluginAt(listing, placesIn(listing), elsewhere?.path ?? '', { ...entry, source: './' });
}

async function listedIn(listing: Listing, below: string): Promise<readonly Plugin[]> {
  const places = placesIn(listing);
  const market = await readJson(listing, joined(below, `${MARK}/marketplace.json`));
  if (market === null) {
    if (!places.has(joined(below, `${MARK}/plugin.json`))) return [];
    const only = await pluginAt(listing, places, below, {});
    return [only.problem === null ? only : { ...only, name: MARK }];
  }
  const { plugins, metadata } = market;
  if (!Array.isArray(plugins)) throw invalid(joined(below, `${MARK}/marketplace.json`), "it has no list 'plugins'");
  if (plugins.length > MOST) throw invalid(joined(below, `${MARK}/marketplace.json`), `it lists more than ${MOST} plugins`);
  const root = text((metadata as Json | undefined)?.['pluginRoot']) ?? '';
  const found: Plugin[] = [];
  for (const entry of plugins as readonly unknown[])
    if (typeof entry === 'object' && entry !== null)
      found.push(await pluginAt(listing, places, `${below}/${root}`, { source: null, ...entry }));
  return found;
}

/** Those of that name. Throws `plugin_not_found`, and `plugin_invalid` where the list of them cannot be read. */
export function chosenPlugins(plugins: readonly Plugin[], wanted: readonly string[]): readonly Plugin[] {
  return [...new Set(wanted)].map((name) => {
    const found = plugins.find((plugin) => plugin.name === name);
    if (found !== undefined) return found;
    const unread = plugins.find((plugin) => plugin.name === MARK);
    if (unread?.problem) throw unread.problem;
    const names = plugins.map((plugin) => plugin.name);
    throw new PithError('plugin_not_found', `it has no plugin '${printableLine(name)}'${didYouMean(name, names)}`, {
      cure:
        names.length === 0
          ? 'it has neither marketplace.json nor plugin.json: leave --plugin out'
          : `without --plugin they are listed; it contains ${someOf(
              names.map((one) => printableLine(one, 80)),
              20,
            )}`,
    });
  });
}

/** Of the skills of an origin those that belong to one of these plugins. */
export function skillsOf(found: readonly FoundSkill[], plugins: readonly Plugin[]): readonly FoundSkill[] {
  return found.filter(({ path }) => ownerOf(path, plugins) !== null);
}

/** These skills, those of one of these plugins under its name. */
export function underNames(found: readonly FoundSkill[], plugins: readonly Plugin[]): readonly FoundSkill[] {
  return found.map((skill) => {
    const owner = ownerOf(skill.path, plugins);
    return owner === null ? skill : { ...skill, id: `${owner.name.normalize('NFC').replaceAll(' ', '-')}:${skill.id}` };
  });
}

/** The plugin whose skill lies there, the innermost of several; null: none. */
function ownerOf(path: string, plugins: readonly Plugin[]): Plugin | null {
  let owner: Plugin | null = null;
  let depth = -1;
  for (const plugin of plugins)
    for (const place of plugin.skills ?? [plugin.folder])
      if (isIn(path, place) && place.length > depth) [owner, depth] = [plugin, place.length];
  return owner;
}

/** Files of an origin that are, or lie in, one of these places, as `.md`. */
export function filesIn({ entries }: Listing, places: readonly string[]): readonly OriginEntry[] {
  if (places.length === 0) return [];
  return entries.filter(({ path }) => places.some((place) => isIn(path, place)) && /\.md$/i.test(path));
}

/** Of an entry whose source is relative to `base`. What is wrong with it is its problem, and that of no other plugin. */
async function pluginAt(listing: Listing, places: ReadonlySet<string>, base: string, entry: Json): Promise<Plugin> {
  const { source = './' } = entry;
  const name = text(entry['name']) ?? '';
  const plain = { ...NOTHING, name, description: text(entry['description']) ?? '', folder: '', entry };
  try {
    if (typeof source === 'object' && source !== null) {
      const elsewhere = elsewhereOf(source as Json);
      if (elsewhere === null) throw refuse(name, 'its source is of a kind that is not known here');
      checkName(name);
      return { ...plain, elsewhere, problem: null };
    }
    const folder = typeof source === 'string' ? insideOf(base, source) : null;
    if (folder === null)
      throw refuse(name, source === null ? 'it has no source' : `its source ${JSON.stringify(source)} leads out of the repository`);
    const manifest = (await readJson(listing, joined(folder, `${MARK}/plugin.json`))) ?? {};
    return pluginOf(places, folder, entry, manifest);
  } catch (error) {
    if (error instanceof PithError && error.code === 'plugin_invalid') return { ...plain, problem: error };
    throw error;
  }
}

function pluginOf(places: ReadonlySet<string>, folder: string, entry: Json, manifest: Json): Plugin {
  const name = text(entry['name']) ?? text(manifest['name']) ?? '';
  checkName(name);
  const has = (place: string) => places.has(joined(folder, place));
  const own = (place: string) => (has(place) ? [joined(folder, place)] : []);
  const listed = (about: Json, key: string) => paths(name, folder, about[key]);
  const [inEntry, inManifest] = [listed(entry, 'skills'), listed(manifest, 'skills')];
  const skills = inEntry.length > 0 ? inEntry : [...own('skills'), ...inManifest];
  const said = (key: string) => entry[key] !== undefined || manifest[key] !== undefined;
  return {
    name,
    description: text(entry['description']) ?? text(manifest['description']) ?? '',
    folder,
    elsewhere: null,
    entry,
    skills: skills.length > 0 ? skills : null,
    commands: [...own('commands'), ...listed(entry, 'commands'), ...listed(manifest, 'commands')],
    agents: [...own('agents'), ...listed(entry, 'agents'), ...listed(manifest, 'agents')],
    unsupported: [
      ...(said('hooks') || has('hooks') ? ['hooks'] : []),
      ...(said('mcpServers') || has('.mcp.json') ? ['MCP servers'] : []),
      ...(said('lspServers') || has('.lsp.json') ? ['language servers'] : []),
      ...(said('outputStyles') || has('output-styles') ? ['output styles'] : []),
    ],
    problem: null,
  };
}

function checkName(name: string): void {
  if (!NAME.test(name)) throw refuse(name, 'its name is missing or not a name');
}

/** Where a source of a marketplace leads that is not a folder of its own; null for what is not known. */
function elsewhereOf(source: Json): Origin | null {
  const { source: kind, repo, url, ref, sha, path } = source;
  const address =
    kind === 'github' && typeof repo === 'string' && /^[\w.-]+\/[\w.-]+$/.test(repo)
      ? `https://github.com/${repo}`
      : kind === 'url' || kind === 'git-subdir'
        ? text(url)
        : null;
  if (address === null || !/^(?:https?|ssh|git):\/\/|^[\w.-]+@/i.test(address)) return null; // no folder of this machine
  const folder = path === undefined ? undefined : insideOf('', text(path) ?? '..');
  if (folder === null) return null;
  try {
    const origin = originOf(address, text(sha) ?? text(ref) ?? undefined, '/');
    return folder === undefined || folder === '' ? origin : { ...origin, path: folder };
  } catch {
    return null; // no address, or no name of a branch
  }
}

/** A list of paths, or one, relative to the plugin. Throws `plugin_invalid` for one that leads out. */
function paths(name: string, folder: string, value: unknown): readonly string[] {
  const given =
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.values(value).map((one) => (one as Json | null)?.['source'])
      : [value].flat();
  return given.flatMap((one) => {
    if (typeof one !== 'string') return [];
    const inside = insideOf(folder, one);
    if (inside === null) throw refuse(name, `its path ${JSON.stringify(one)} leads out of it`);
    return [inside];
  });
}

/** null for what leads out of `base`. */
function insideOf(base: string, given: string): string | null {
  const names = `${base}/${given}`.split('/').filter((name) => name !== '' && name !== '.');
  return given.startsWith('/') || names.some((name) => name === '..' || name.includes('\\')) ? null : names.join('/');
}

/** Every file and folder. */
function placesIn({ entries }: Listing): ReadonlySet<string> {
  const places = new Set<string>();
  for (const { path } of entries)
    for (let end = path.length; end > 0 && !places.has(path.slice(0, end)); end = path.lastIndexOf('/', end - 1))
      places.add(path.slice(0, end));
  return places;
}

function joined(folder: string, name: string): string {
  return folder === '' ? name : `${folder}/${name}`;
}

function isIn(path: string, folder: string): boolean {
  return folder === '' || path === folder || path.startsWith(`${folder}/`);
}

async function readJson(listing: Listing, path: string): Promise<Json | null> {
  const entry = listing.entries.find((one) => one.path === path);
  if (entry === undefined) return null;
  try {
    const value: unknown = JSON.parse(await readText(listing, entry, MOST_BYTES));
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Json;
  } catch (error) {
    throw invalid(path, messageOf(error));
  }
  throw invalid(path, 'it is not an object');
}

function text(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

function invalid(path: string, why: string): PithError {
  return new PithError('plugin_invalid', `its ${printableLine(path)} cannot be used: ${why}`, {
    cure: 'name the folder of the skills itself',
  });
}

function refuse(name: string, why: string): PithError {
  return new PithError('plugin_invalid', `its plugin '${printableLine(name, 80)}' cannot be taken: ${why}`, {
    cure: 'ask its author to fix it',
  });
}
