import { mkdir, writeFile, lstat, readFile } from 'node:fs/promises';
import path from 'node:path';
import { codeOf, type Diagnostic, messageOf, PithError, Places } from 'pith';
import { guardedYaml } from '@pith/guarded-yaml';
import { printableLine } from '@pith/plain-text';
import { clean, splitFrontmatter } from '@pith/skill-files';
import { inspectSkill } from '../safety/inspection.ts';
import { type Listing, type OriginEntry, readText, refused } from './entry.ts';
import type { FoundSkill } from './found-skills.ts';
import { filesIn, type Plugin } from './plugins.ts';
import type { StagedItem } from './staged-skill.ts';
import type { SkillPlace } from 'pith/skill_registry';
import { FileRefused, isRefusal, Jail, systemCure } from '@pith/safe-files';
import type { InstallContext } from '../install-context.ts';

/** A command or an agent of a plugin, which becomes a recipe or an agent of Pith. */
export interface PluginPart {
  readonly kind: 'recipe' | 'agent';
  /** Of the file: the name by which it is called. */
  readonly id: string;
  readonly entry: OriginEntry;
}

const MOST_BYTES = 64 * 1024;

/** Files of skills are no parts. */
export function partsOf(listing: Listing, plugins: readonly Plugin[], skills: readonly FoundSkill[]): readonly PluginPart[] {
  const found = new Map<string, PluginPart>();
  for (const { commands, agents } of plugins) {
    for (const entry of filesIn(listing, commands)) found.set(entry.path, { kind: 'recipe', id: idOf(entry), entry });
    for (const entry of filesIn(listing, agents)) found.set(entry.path, { kind: 'agent', id: idOf(entry), entry });
  }
  const inSkills = new Set(skills.flatMap(({ entries }) => entries.map((entry) => entry.path)));
  return [...found.values()].filter(({ entry }) => !/(?:^|\/)(?:readme|changelog)\.md$/i.test(entry.path) && !inSkills.has(entry.path));
}

/** Where it is put, below the sandbox. */
function namesOf({ kind, id }: Pick<PluginPart, 'kind' | 'id'>): readonly string[] {
  return kind === 'recipe' ? ['recipes', `${id}.md`] : ['agents', id, 'AGENT.md'];
}

/** Writes it, in Pith's form, into `folder`. Rejects `origin_refused` for what is no such file. */
export async function stagePart(listing: Listing, part: PluginPart, folder: string): Promise<StagedItem> {
  const { kind, id, entry } = part;
  if (!/^[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(id))
    throw refused(
      `its ${kind} ${JSON.stringify(id)} has a name that Pith cannot use`,
      'rename the file: lower-case letters, digits and hyphens, beginning with a letter',
    );
  const read = await readText(listing, entry, MOST_BYTES);
  const { text, description, notes } = kind === 'recipe' ? recipeOf(read) : agentOf(read, id);
  const directory = path.join(folder, `${kind}-${id}`);
  const file = path.join(directory, namesOf(part).at(-1)!);
  await mkdir(directory, { recursive: true });
  try {
    await writeFile(file, text, { flag: 'wx' });
  } catch (error) {
    if (codeOf(error, '') === 'EEXIST')
      throw refused(
        `it contains the ${kind} '${id}' more than once: this is ${printableLine(entry.path)}`,
        'the first is taken; to have this one, put it in its place by hand',
      );
    throw error;
  }
  return {
    kind,
    id,
    path: entry.path,
    directory,
    bytes: Buffer.byteLength(text),
    inspection: await inspectSkill(directory),
    description,
    diagnostics: notes.map((message): Diagnostic => ({ severity: 'info', code: 'plugin_part', message, file: entry.path })),
  };
}

function idOf({ path: file }: OriginEntry): string {
  return path.posix.basename(file).replace(/\.md$/i, '').toLowerCase().replaceAll('_', '-');
}

interface Converted {
  readonly text: string;
  readonly description: string;
  /** What of it has no effect here. */
  readonly notes: readonly string[];
}

interface Parsed {
  readonly head: Readonly<Record<string, unknown>>;
  readonly body: string;
}

/** A slash command: all that is typed behind it becomes the argument `text`; single words are arguments that must be named, `arg1=…` and so on. */
function recipeOf(read: string): Converted {
  const { head, body } = parsed(read);
  const plain = body.replace(/\\*\{\{(?=[ \t]*[A-Za-z_][\w-]*[ \t]*\}\})/g, '\\{{'); // a recipe cannot say a backslash before what would be a blank
  const numbers = [...new Set([...plain.matchAll(/\$([1-9])\b/g)].map((match) => match[1]!))].sort();
  const filled = plain.replace(/\$ARGUMENTS\b/g, '{{text}}').replace(/\$([1-9])\b/g, '{{arg$1}}');
  const hint = said(head['argument-hint']);
  const description = said(head['description']) || firstLine(body);
  const named = [
    ...numbers.map(
      (number) => `  arg${number}: { description: ${JSON.stringify(`word ${number} of: ${hint || 'what is asked for'}`)}, default: "" }`,
    ),
    ...(/\{\{text\}\}/.test(filled)
      ? [`  text: { description: ${JSON.stringify(hint || 'what is asked for')}, default: "", rest: true }`]
      : []),
  ];
  const notes = [
    ...(numbers.length > 0 ? [`its words are arguments here: type ${numbers.map((number) => `arg${number}=…`).join(' ')} in a chat`] : []),
    ...(/(?:^|\s)!`/.test(body)
      ? ['it has commands that its own client runs before it is said (!`…`): here the agent reads them as text']
      : []),
    ...ignoredIn(head, ['allowed-tools', 'model', 'agent', 'hooks']),
  ];
  const lines = [`description: ${JSON.stringify(description)}`, ...(named.length === 0 ? [] : ['arguments:', ...named])];
  return { text: `---\n${lines.join('\n')}\n---\n${filled.trim()}\n`, description, notes };
}

function agentOf(read: string, id: string): Converted {
  const { head, body } = parsed(read);
  const description = said(head['description']);
  if (!/\p{L}/u.test(body)) throw refused(`its agent '${id}' has no instructions`, 'ask its author to fix it');
  const lines = [`name: ${JSON.stringify(said(head['name']) || id)}`, `description: ${JSON.stringify(description)}`];
  return {
    text: `---\n${lines.join('\n')}\n---\n${body.trim()}\n`,
    description,
    notes: ignoredIn(head, ['tools', 'disallowedTools', 'model', 'permissionMode', 'hooks', 'mcpServers', 'skills']),
  };
}

function ignoredIn(head: Parsed['head'], keys: readonly string[]): readonly string[] {
  const found = keys.filter((key) => head[key] !== undefined);
  return found.length === 0 ? [] : [`ignored, because its own client alone knows it: ${found.join(', ')}`];
}

function parsed(read: string): Parsed {
  const split = splitFrontmatter(read, true);
  if ('code' in split) return { head: {}, body: read };
  return { head: headOf(split.head), body: read.slice(split.bodyOffset) };
}

/** Its values as far as they can be read. Such files are written for a reader of lines: `description: Use when: …` is a text there. */
function headOf(head: string): Parsed['head'] {
  const { document } = guardedYaml(head);
  try {
    const value: unknown = document?.errors.length === 0 ? document.toJS() : null;
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Parsed['head'];
  } catch {
    // an alias of nothing, such as `tools: *`
  }
  const lines = head.split(/\r?\n/).flatMap((line) => {
    const [, key = '', text = ''] = /^([\w-]+):[ \t]+(\S.*)$/.exec(line) ?? [];
    return key === '' ? [] : [[key, text] as const];
  });
  return Object.fromEntries(lines);
}

/** One line of at most 300 characters. */
function said(value: unknown): string {
  if (Array.isArray(value)) return said(`[${value.join('] [')}]`);
  return typeof value === 'string' ? clean(value).slice(0, 300) : '';
}

function firstLine(body: string): string {
  return said(
    body
      .split('\n')
      .find((line) => /\p{L}/u.test(line))
      ?.replace(/^#+\s*/, ''),
  );
}

/** Where recipes and agents of plugins are put: in the sandbox, and never in the place of what is there, ships, or is the person's own. */
export function partPlace(context: InstallContext, { source }: SkillPlace) {
  const { sandbox, shippedSandbox, home } = context.use(Places);
  const names = (item: Pick<StagedItem, 'kind' | 'id'>) => namesOf({ kind: item.kind === 'agent' ? 'agent' : 'recipe', id: item.id });
  const fileOf = (item: Pick<StagedItem, 'kind' | 'id'>) => path.join(sandbox, ...names(item));
  const exists = (kind: StagedItem['kind'], place: string) =>
    new PithError('target_exists', `${kind === 'agent' ? 'an agent' : 'a recipe'} of that name exists already`, {
      where: place,
      cure: 'to have both, rename the file in the plugin and install from your copy',
    });
  /** Everything by whose name it would be known, the sandbox first. */
  const others = ({ kind, id }: PluginPart): readonly (readonly [folder: string, names: readonly string[]])[] => {
    const files =
      kind === 'recipe'
        ? [namesOf({ kind, id })]
        : [
            ['agents', id, 'AGENT.md'],
            ['agents', id, 'manifest.yaml'],
          ];
    const folders = [sandbox, shippedSandbox, ...(home === null ? [] : [path.join(home, '.pith')])];
    return folders.flatMap((folder) => files.map((file) => [folder, file] as const));
  };
  return {
    fileOf,
    /** Why it cannot be put in place; null where it can. */
    async taken(part: PluginPart): Promise<PithError | null> {
      if (source !== 'project')
        return new PithError('usage', `${part.kind === 'agent' ? 'an agent' : 'a recipe'} belongs to a project`, {
          cure: 'install it with --source project',
        });
      try {
        for (const [folder, file] of others(part)) if (await isThere(folder, file)) return exists(part.kind, path.join(folder, ...file));
        return null;
      } catch (error) {
        return unusable(error);
      }
    },
    /** The error where somebody was quicker; null when it is in place. */
    async put(item: StagedItem): Promise<PithError | null> {
      try {
        const bytes = await readFile(path.join(item.directory, names(item).at(-1)!));
        const staged = await new Jail(sandbox).stage(names(item), bytes);
        staged.commit({ replace: false });
        return null;
      } catch (error) {
        return codeOf(error, '') === 'target_exists' ? exists(item.kind, fileOf(item)) : unusable(error);
      }
    },
  };
}

/** Links are followed, as by those who read such folders. */
async function isThere(folder: string, names: readonly string[]): Promise<boolean> {
  try {
    await lstat(path.join(folder, ...names));
    return true;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(error, ''))) return false;
    throw error;
  }
}

/** A folder that is a link or a file, or that nobody may write. Throws what is no fault of the place. */
function unusable(error: unknown): PithError {
  const system = error instanceof FileRefused ? error.cause : error;
  if (!isRefusal(error) && !OF_THE_PLACE.includes(codeOf(system, ''))) throw error;
  return new PithError('place_unusable', `it cannot be written: ${messageOf(error)}`, {
    cause: error,
    cure: systemCure(error, 'the folder') ?? 'make the folder one that you may write, and no link',
  });
}

const OF_THE_PLACE = ['EACCES', 'EPERM', 'EROFS', 'ENOSPC', 'EDQUOT'];
