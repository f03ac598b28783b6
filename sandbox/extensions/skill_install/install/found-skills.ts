import { PithError } from 'pith';
import { didYouMean, printableLine, someOf } from '@pith/plain-text';
import { FILE_LIMIT, parseSkillFile } from '@pith/skill-files';
import { folded, type Listing, type OriginEntry, refused } from './entry.ts';
import { isInstallableId, pluginOf } from './skill-id.ts';

/** A skill in an origin. */
export interface FoundSkill {
  /** Its folder's name; below that of its plugin (`plugin:folder`) where that is installed. */
  readonly id: string;
  /** Its folder in the origin; empty for the top. */
  readonly path: string;
  readonly description: string;
  readonly entries: readonly OriginEntry[];
  /** Why its SKILL.md cannot be read; null when it can. */
  readonly problem: PithError | null;
}

interface Folder {
  readonly path: string;
  readonly file: OriginEntry;
  readonly problem: PithError | null;
}

/** A repository of few bytes may name one file any number of times. */
const MOST_SKILLS = 5_000;

/** Every skill of an origin, sorted by path. A SKILL.md within a skill belongs to that skill. Throws `origin_refused` where there are too many. */
export async function foundSkills(listing: Listing, below = ''): Promise<readonly FoundSkill[]> {
  const { entries, name } = listing;
  const folders = outermost(entries, below);
  if (folders.length > MOST_SKILLS)
    throw refused(`it contains more than ${MOST_SKILLS} skills`, 'clone it by hand, and install from the folder of the skill');
  const read = new Map<string, Awaited<ReturnType<typeof headOf>>>();
  const readable = folders.filter(({ problem }) => problem === null).map(({ file }) => file);
  for await (const { entry, chunks } of listing.read(readable)) read.set(entry.path, await headOf(entry, chunks));
  const top = topOf(entries);
  return folders.map(({ path, file, problem }) => {
    const own = path === '' ? name.text : path.slice(path.lastIndexOf('/') + 1);
    const head = read.get(file.path);
    // The top of a repository or archive is called after its file: what the skill itself says is better.
    const id = !name.sure && (path === '' || path === top) && isSkillName(head?.name ?? '') ? (head?.name ?? own) : own;
    const prefix = path === '' ? '' : `${path}/`;
    return {
      id: id.normalize('NFC'),
      path,
      description: head?.description ?? '',
      entries: entries.filter((entry) => entry.path.startsWith(prefix)),
      problem: problem ?? head?.problem ?? null,
    };
  });
}

/** Those that are wanted by id or by their folder. Throws `origin_without_skill`, `skill_not_found`, `skill_choice_needed`. */
export function chosenSkills(found: readonly FoundSkill[], wanted: readonly string[], all: boolean): readonly FoundSkill[] {
  if (found.length === 0)
    throw new PithError('origin_without_skill', 'no SKILL.md is in it', { cure: 'name a folder, repository or archive that contains one' });
  const named = wanted.map((name) => {
    const hits = found.filter(({ id, path }) => id === name || path === name.replace(/^\.?\/+|\/+$/g, ''));
    if (hits.length > 1) throw ambiguous(name, hits);
    if (hits[0] !== undefined) return hits[0];
    const hint = didYouMean(
      name,
      found.map(({ id }) => id),
    );
    throw new PithError('skill_not_found', `it has no skill '${printableLine(name)}'${hint}`, {
      cure: `it contains ${someOf(
        found.map(({ id }) => printableLine(id)),
        10,
      )}`,
    });
  });
  if (named.length > 0) return [...new Set(named)];
  if (found.length === 1 || all) return found;
  throw new PithError('skill_choice_needed', `it contains ${found.length} skills`, {
    cure: 'name those that you want with --skill ID, or take --all',
  });
}

/** Why a skill cannot be installed, whatever its files are; null where nothing speaks against it. Of several that are one folder on some systems the first good one is taken. */
export function unusable(skill: FoundSkill, taken: readonly FoundSkill[]): PithError | null {
  if (skill.problem !== null) return skill.problem;
  if (!isInstallableId(skill.id))
    return refused(
      `its skill ${JSON.stringify(skill.id)} has a name that cannot be a folder's`,
      'rename the folder: letters, digits and hyphens, at most 64',
    );
  const first = taken.find(({ id }) => isOnePlace(id, skill.id));
  if (first === undefined) return null;
  if (folded(first.id) !== folded(skill.id))
    return refused(
      `its '${printableLine(skill.id)}' would lie in one folder with '${printableLine(first.id)}'`,
      'take it alone, with --skill',
    );
  return new PithError(
    'skill_exists',
    `it contains '${printableLine(skill.id)}' more than once, first in ${printableLine(first.path || '.')}`,
    {
      cure: `to have this one instead: --skill ${printableLine(skill.path || '.')} --force`,
    },
  );
}

/** Whether two ids are one folder on some systems, or one of them the folder of the other's plugin. */
function isOnePlace(a: string, b: string): boolean {
  if (folded(a) === folded(b)) return true;
  const [above, beside] = [pluginOf(a) ?? a, pluginOf(b) ?? b];
  return folded(above) === folded(beside) && (above !== beside || above === a || beside === b);
}

function outermost(entries: readonly OriginEntry[], below: string): readonly Folder[] {
  const folders = new Map<string, OriginEntry>();
  const prefix = below === '' ? '' : `${below}/`;
  for (const file of entries) {
    const cut = file.path.lastIndexOf('/');
    if (file.path.slice(cut + 1).toLowerCase() !== 'skill.md' || !file.path.startsWith(prefix)) continue;
    const path = cut < 0 ? '' : file.path.slice(0, cut);
    if (/(?:^|\/)(?:node_modules|\.git)(?:\/|$)/.test(path)) continue;
    const before = folders.get(path);
    if (before === undefined || file.path.endsWith('SKILL.md')) folders.set(path, file);
  }
  const paths = new Set(folders.keys());
  return [...folders]
    .filter(([path]) => !isWithin(path, paths))
    .map(([path, file]) => ({ path, file, problem: problemOf(file) }))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

function isWithin(path: string, folders: ReadonlySet<string>): boolean {
  if (path !== '' && folders.has('')) return true;
  for (let cut = path.lastIndexOf('/'); cut > 0; cut = path.lastIndexOf('/', cut - 1)) if (folders.has(path.slice(0, cut))) return true;
  return false;
}

function problemOf({ path, kind, size }: OriginEntry): PithError | null {
  if (kind === 'link') return refused(`its ${printableLine(path)} is a link`, 'put the file itself in its place');
  if (kind !== 'file') return refused(`its ${printableLine(path)} is not a regular file`, 'put a text file in its place');
  return size > FILE_LIMIT ? refused(`its ${printableLine(path)} is larger than ${FILE_LIMIT / 1024} KiB`) : null;
}

/** The one folder that holds everything, as in archives that services make of a repository; else null. */
function topOf(entries: readonly OriginEntry[]): string | null {
  const tops = new Set(entries.map(({ path }) => path.split('/')[0]));
  const [only] = tops;
  return tops.size === 1 && only !== undefined && entries.every(({ path }) => path.includes('/')) ? only : null;
}

function isSkillName(name: string): boolean {
  return name.length <= 64 && /^[\p{Ll}\p{Lo}\p{N}]+(?:-[\p{Ll}\p{Lo}\p{N}]+)*$/u.test(name);
}

/** What one SKILL.md says of its skill, or why it cannot be read. Its text is not kept: there may be many. */
async function headOf(
  { path, size }: OriginEntry,
  chunks: AsyncIterable<Uint8Array>,
): Promise<Pick<FoundSkill, 'description' | 'problem'> & { readonly name: string }> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of chunks) {
      bytes += chunk.length;
      if (bytes > FILE_LIMIT) throw refused(`a SKILL.md is larger than ${FILE_LIMIT / 1024} KiB`);
      parts.push(chunk);
    }
  } catch (error) {
    if (!(error instanceof PithError) || error.code !== 'origin_refused') throw error;
    return { name: '', description: '', problem: error }; // a fault of this file alone
  }
  const id = path.split('/').at(-2) ?? '';
  const { fields } = await parseSkillFile(Buffer.concat(parts).toString('utf8'), { id, file: `/${path}`, mode: 'load', size });
  return { name: fields.name, description: fields.description, problem: null };
}

function ambiguous(name: string, hits: readonly FoundSkill[]): PithError {
  const places = hits.map(({ path }) => printableLine(path || '.')).join(', ');
  return new PithError('skill_choice_needed', `it contains '${printableLine(name)}' more than once: ${places}`, {
    cure: 'name the folder with --skill',
  });
}
