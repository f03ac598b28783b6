import type { Resource } from '@modelcontextprotocol/server';
import type { Skill, SkillReadResult, SkillSource } from '@modelcontextprotocol/server/ext/skills';
import type { SkillRecord } from 'pith/skill_registry';
import type { ReadableSkills } from './readable-skills.ts';

const SCHEME = 'skill://';
/** Each entry has digests of all files of its skill. */
const ENTRIES_A_PAGE = 20;
/** The list of resources has no pages: more skills than these are found by `skills/list` and by `list_skills`. */
const MOST_LISTED = 1000;

/** Readable skills, as the skills extension of the protocol publishes them: `skill://<id>/SKILL.md` and the files beside it. */
export async function skillSource(readable: ReadableSkills): Promise<SkillSource> {
  const { DIRECTORY_MIME_TYPE, SkillCatalogError, skillEntry } = await import('@modelcontextprotocol/server/ext/skills');

  /** undefined: its folder is none that can be published whole, such as one whose name is another than that in SKILL.md. */
  async function entryOf(skill: SkillRecord): Promise<Skill | undefined> {
    const files = await readable.files(skill);
    if (files === null || uriOf(skill, 'SKILL.md') === null) return undefined;
    try {
      return await skillEntry(folderOf(skill), files);
    } catch (error) {
      if (SkillCatalogError.isInstance(error)) return undefined;
      throw error;
    }
  }

  async function meant(uri: string): Promise<{ readonly skill: SkillRecord; readonly path: string } | null> {
    const segments = segmentsOf(uri);
    const skills = segments === null ? [] : await readable.skills();
    for (const length of [1, 2]) {
      const id = segments?.slice(0, length).join(':');
      const skill = skills.find((each) => each.id === id);
      if (skill !== undefined) return { skill, path: segments!.slice(length).join('/') };
    }
    return null;
  }

  return {
    async list({ cursor = '' }) {
      const all = (await readable.skills()).filter(({ id }) => id > cursor);
      const page = all.slice(0, ENTRIES_A_PAGE);
      const skills: Skill[] = [];
      for (const skill of page) {
        const entry = await entryOf(skill); // one at a time: the files of one are in memory
        if (entry !== undefined) skills.push(entry);
      }
      return { skills, ...(all.length > page.length && { nextCursor: page.at(-1)!.id }) };
    },

    async get(uri) {
      const found = await meant(uri);
      return found?.path === 'SKILL.md' ? entryOf(found.skill) : undefined;
    },

    async read(uri) {
      const found = await meant(uri);
      const bytes = found === null ? null : await readable.file(found.skill, found.path);
      return bytes === null ? undefined : contentOf(found!.path, bytes);
    },

    async readDirectory(uri) {
      const found = await meant(uri.replace(/\/+$/u, ''));
      const files = found === null ? null : await readable.files(found.skill);
      if (found === null || files === null) return undefined;
      const children = childrenOf(Object.keys(files), found.path);
      if (children.size === 0) return undefined;
      const resources = [...children].flatMap(([name, isDirectory]): readonly Resource[] => {
        const path = found.path === '' ? name : `${found.path}/${name}`;
        const at = uriOf(found.skill, path);
        if (at === null) return [];
        return [
          { uri: at, name, ...(isDirectory ? { mimeType: DIRECTORY_MIME_TYPE } : { size: files[path]!.byteLength, ...typeOf(path) }) },
        ];
      });
      return { resources };
    },

    async listResources() {
      return (await readable.skills()).slice(0, MOST_LISTED).flatMap((skill): readonly Resource[] => {
        const uri = uriOf(skill, 'SKILL.md');
        return uri === null ? [] : [{ uri, name: skill.id, description: skill.description, ...typeOf('SKILL.md') }];
      });
    },
  };
}

/** A plugin's skill `plugin:folder` lies in `plugin/folder`. */
function folderOf({ id }: SkillRecord): string {
  return id.replaceAll(':', '/');
}

/** null: its name cannot stand in an address. */
export function uriOf(skill: SkillRecord, path: string): string | null {
  const uri = SCHEME + [...folderOf(skill).split('/'), ...path.split('/')].map((segment) => encodeURIComponent(segment)).join('/');
  return URL.canParse(uri) ? new URL(uri).href : null;
}

/** Decoded; null for every address that is none of a skill. */
function segmentsOf(uri: string): readonly string[] | null {
  if (!uri.startsWith(SCHEME)) return null;
  try {
    const segments = uri.slice(SCHEME.length).split('/').map(decodeURIComponent);
    return segments.some((segment) => segment.includes('/')) ? null : segments;
  } catch {
    return null; // no percent-encoding
  }
}

/** Names of what lies directly in a folder, and whether each is a folder itself. */
function childrenOf(paths: readonly string[], folder: string): ReadonlyMap<string, boolean> {
  const start = folder === '' ? '' : `${folder}/`;
  const below = paths.filter((path) => path.startsWith(start)).map((path) => path.slice(start.length).split('/'));
  return new Map(below.map(([name = '', ...rest]) => [name, rest.length > 0]));
}

/** Text, where the bytes are that exactly. */
export function contentOf(path: string, bytes: Uint8Array): SkillReadResult {
  try {
    return { text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes), ...typeOf(path) };
  } catch {
    return { bytes }; // other bytes are no text
  }
}

function typeOf(path: string): { readonly mimeType?: string } {
  if (path.endsWith('.md')) return { mimeType: 'text/markdown' };
  return path.endsWith('.json') ? { mimeType: 'application/json' } : {};
}
