/** One skill as a loader tells it. What it does not tell is undefined. */
export interface ListedSkill {
  readonly id?: string;
  readonly name?: string;
  readonly description?: string;
  readonly version?: string;
  readonly body?: string;
  /** Of its SKILL.md or its folder. */
  readonly path?: string;
}

export const LISTING_FIELDS = ['id', 'name', 'description', 'version', 'body', 'path', 'state'] as const;
export type ListingField = (typeof LISTING_FIELDS)[number];
/** Under which keys a loader tells what, `a.b` within each other; for what is not named, common keys are tried. */
export type KeyMap = Readonly<Partial<Record<ListingField, string>>>;

const COMMON: Readonly<Record<ListingField, readonly string[]>> = {
  id: ['id', 'slug', 'key', 'skillId', 'skill_id'],
  name: ['name', 'displayName', 'display_name', 'title', 'metadata.name', 'frontmatter.name', 'properties.name'],
  description: ['description', 'desc', 'summary', 'metadata.description', 'frontmatter.description', 'properties.description'],
  version: ['version', 'metadata.version', 'frontmatter.version', 'properties.metadata.version', 'metadata.metadata.version'],
  body: ['body', 'content', 'instructions', 'text'],
  path: ['path', 'filePath', 'file_path', 'file', 'location', 'skillFile', 'directory', 'dir', 'baseDir', 'dirPath', 'folder', 'root'],
  state: ['state', 'status', 'valid', 'loaded', 'ok'],
};
const LISTS = ['skills', 'items', 'results', 'data', 'entries', 'available', 'available_skills'];
/** States of skills that are listed and cannot be used. */
const NOT_LOADED = new Set(['false', 'invalid', 'error', 'failed', 'broken', 'refused', 'rejected', 'skipped']);

/** The skills that were loaded; null where the text is no listing. `key`: which key holds the list. */
export function listingOf(stdout: string, map: KeyMap = {}, key: string | null = null): readonly ListedSkill[] | null {
  const listed = firstList(stdout, key);
  if (listed === null) return null;
  return listed.flatMap((one): ListedSkill | [] => {
    if (typeof one === 'string') return { name: one };
    const textOf = (what: ListingField) => textAt(one, map[what] === undefined ? COMMON[what] : [map[what]]);
    if (NOT_LOADED.has(textOf('state')?.toLowerCase() ?? '')) return [];
    const [id, name, description, version, body, path] = [
      textOf('id'),
      textOf('name'),
      textOf('description'),
      textOf('version'),
      textOf('body'),
      textOf('path'),
    ];
    return { id, name, description, version, body, path };
  });
}

/** What of a program's output is JSON: it may print lines before or after its listing, such as a notice of a new version. */
function* jsonIn(stdout: string): Generator<unknown> {
  const lines = stdout.split('\n');
  const begins = lines.flatMap((line, at) => (/^\s*[[{]/.test(line) ? [at] : [])).slice(0, MOST_TRIED);
  const ends = lines
    .flatMap((line, at) => (/[\]}]\s*$/.test(line) ? [at + 1] : []))
    .slice(-MOST_TRIED)
    .reverse();
  for (const [begin, end] of [[0, lines.length] as const, ...begins.flatMap((begin) => ends.map((end) => [begin, end] as const))]) {
    try {
      yield JSON.parse(lines.slice(begin, end).join('\n')) as unknown;
    } catch {
      // The next may be JSON; if none is, that is the answer.
    }
  }
}

function firstList(stdout: string, key: string | null): readonly unknown[] | null {
  for (const value of jsonIn(stdout)) {
    const listed = skillsIn(value, key);
    if (listed !== null) return listed;
  }
  return null;
}

/** A listing is long, and notices are few lines. */
const MOST_TRIED = 4;

function skillsIn(value: unknown, key: string | null): readonly unknown[] | null {
  if (Array.isArray(value)) return value;
  if (typeof value !== 'object' || value === null) return null;
  for (const name of key === null ? LISTS : [key]) {
    const held = at(value, name);
    if (Array.isArray(held)) return held;
    // A map from names to skills is a list as well.
    if (typeof held === 'object' && held !== null) return Object.entries(held).map(([id, one]) => (isMap(one) ? { id, ...one } : { id }));
  }
  return null;
}

function textAt(value: unknown, keys: readonly string[]): string | undefined {
  for (const key of keys) {
    const found = at(value, key);
    if (typeof found === 'string') return found;
    if (found !== undefined && found !== null) return typeof found === 'object' ? JSON.stringify(found) : String(found as number | boolean);
  }
  return undefined;
}

function at(value: unknown, key: string): unknown {
  return key.split('.').reduce<unknown>((held, part) => (isMap(held) && Object.hasOwn(held, part) ? held[part] : undefined), value);
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
