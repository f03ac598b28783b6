import { isPlainMap } from '@pith/plain-data';

/** Common keys for each field; `a.b` is a nested key. */
const COMMON = {
  id: ['id', 'slug', 'key', 'skillId', 'skill_id'],
  name: ['name', 'displayName', 'display_name', 'title', 'metadata.name', 'frontmatter.name', 'properties.name'],
  description: ['description', 'desc', 'summary', 'metadata.description', 'frontmatter.description', 'properties.description'],
  version: ['version', 'metadata.version', 'frontmatter.version', 'properties.metadata.version', 'metadata.metadata.version'],
  body: ['body', 'content', 'instructions', 'text'],
  path: ['path', 'filePath', 'file_path', 'file', 'location', 'skillFile', 'directory', 'dir', 'baseDir', 'dirPath', 'folder', 'root'],
  state: ['state', 'status', 'valid', 'loaded', 'ok'],
};
type ListingField = keyof typeof COMMON;
export const LISTING_FIELDS = Object.keys(COMMON) as readonly ListingField[];
const LISTS = ['skills', 'items', 'results', 'data', 'entries', 'available', 'available_skills'];
/** States of skills that are listed and unusable. */
const NOT_LOADED = new Set(['false', 'invalid', 'error', 'failed', 'broken', 'refused', 'rejected', 'skipped']);

/** A skill as a loader lists it; `path` is its SKILL.md or its folder. undefined: the loader does not list that field. */
export type ListedSkill = Readonly<Partial<Record<Exclude<ListingField, 'state'>, string>>>;

/** The keys of the fields and of the list. Common keys are tried for fields that are not named. */
export interface Reading {
  readonly map?: Readonly<Partial<Record<ListingField, string>>>;
  readonly key?: string;
}

/** The loaded skills; null where the text is not a listing. */
export function listingOf(stdout: string, { map = {}, key }: Reading = {}): readonly ListedSkill[] | null {
  const lists = key === undefined ? LISTS : [key];
  for (const value of jsonIn(stdout)) {
    const listed = skillsIn(value, lists);
    if (listed !== null) return listed.flatMap((one) => (typeof one === 'string' ? { name: one } : loaded(one, map)));
  }
  return null;
}

function loaded(one: unknown, map: NonNullable<Reading['map']>): ListedSkill | readonly [] {
  const texts = LISTING_FIELDS.map((what) => [what, textAt(one, map[what] === undefined ? COMMON[what] : [map[what]])] as const);
  const { state = '', ...skill } = Object.fromEntries(texts) as Partial<Record<ListingField, string>>;
  return NOT_LOADED.has(state.toLowerCase()) ? [] : skill;
}

/** How many pieces of JSON are tried: a listing is long, notices are a few lines. */
const MOST_TRIED = 4;

/** The JSON in a program's output, which may have other lines around it, such as a notice of a new version. */
function* jsonIn(stdout: string): Generator<unknown> {
  const lines = stdout.split('\n');
  const placesOf = (pattern: RegExp) => lines.flatMap((line, at) => (pattern.test(line) ? [at] : []));
  const begins = placesOf(/^\s*[[{]/).slice(0, MOST_TRIED);
  const ends = placesOf(/[\]}]\s*$/)
    .slice(-MOST_TRIED)
    .reverse();
  for (const [begin, end] of [[0, lines.length], ...begins.flatMap((begin) => ends.map((end) => [begin, end + 1]))]) {
    try {
      yield JSON.parse(lines.slice(begin, end).join('\n')) as unknown;
    } catch {
      // The next start may be JSON; if none is, the output has none.
    }
  }
}

function skillsIn(value: unknown, lists: readonly string[]): readonly unknown[] | null {
  if (Array.isArray(value)) return value;
  for (const name of lists) {
    const held = at(value, name);
    if (Array.isArray(held)) return held;
    // A map from names to skills counts as a list.
    if (isPlainMap(held)) return Object.entries(held).map(([id, one]) => (isPlainMap(one) ? { id, ...one } : { id }));
  }
  return null;
}

function textAt(value: unknown, keys: readonly string[]): string | undefined {
  const found = keys.map((key) => at(value, key)).find((held) => held !== undefined && held !== null);
  return typeof found === 'object' ? JSON.stringify(found) : found === undefined ? undefined : String(found);
}

function at(value: unknown, key: string): unknown {
  return key.split('.').reduce<unknown>((held, part) => (isPlainMap(held) && Object.hasOwn(held, part) ? held[part] : undefined), value);
}
