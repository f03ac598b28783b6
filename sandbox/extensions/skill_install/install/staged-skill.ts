import { readRegularFile } from '@pith/safe-files';
import { mkdir, open } from 'node:fs/promises';
import path from 'node:path';
import type { Diagnostic } from 'pith';
import { FILE_LIMIT, parseSkillFile, treeDigest } from '@pith/skill-files';
import type { SkillInspection } from '../safety/scan-finding.ts';
import { inspectSkill } from '../safety/inspection.ts';
import { checkNames, LIMITS, type Listing, type OriginEntry, refused } from './entry.ts';
import type { FoundSkill } from './found-skills.ts';
import { folderOf } from './skill-id.ts';

/** What lies whole and checked in the staging folder. */
export interface StagedItem {
  /** Recipes and agents come with plugins. */
  readonly kind: 'skill' | 'recipe' | 'agent';
  readonly id: string;
  /** Its folder or file in the origin; empty for the top. */
  readonly path: string;
  /** Where it is staged. */
  readonly directory: string;
  readonly bytes: number;
  readonly inspection: SkillInspection;
  readonly description: string;
  /** The source of the skill of this id that it hides. */
  readonly hides?: string;
  /** What loading says of it. */
  readonly diagnostics: readonly Diagnostic[];
}

export interface StagedSkill extends StagedItem {
  readonly digest: string;
  /** False: it would be listed as invalid. */
  readonly valid: boolean;
}

/** Writes the files of a skill into its place below `folder`. Rejects `origin_refused` for whatever is no plain file, too much, or not what it said. */
export async function stageSkill(listing: Listing, skill: FoundSkill, folder: string): Promise<StagedSkill> {
  const { entries, id } = skill;
  if (entries.length > LIMITS.files) throw refused(`it contains ${entries.length} files; at most ${LIMITS.files} are allowed`);
  if (entries.reduce((sum, { size }) => sum + size, 0) > LIMITS.bytes)
    throw refused(`it contains more than ${LIMITS.bytes / 1024 / 1024} MB`);
  checkNames(entries.map((entry) => insideOf(skill, entry)));
  const odd = entries.find(({ kind }) => kind !== 'file');
  if (odd !== undefined)
    throw refused(
      `its entry ${JSON.stringify(odd.path)} is ${odd.kind === 'link' ? 'a link' : 'not a regular file'}`,
      'put the file itself in its place',
    );
  const directory = path.join(folder, folderOf(id));
  const places = new Map(entries.map((entry) => [entry, path.join(directory, insideOf(skill, entry))]));
  for (const place of new Set([...places.values()].map((file) => path.dirname(file)))) await mkdir(place, { recursive: true });
  for await (const { entry, chunks } of listing.read(entries)) await writeEntry(places.get(entry)!, entry, chunks);
  return staged(skill, directory);
}

function insideOf({ path: folder }: FoundSkill, entry: OriginEntry): string {
  return folder === '' ? entry.path : entry.path.slice(folder.length + 1);
}

async function writeEntry(file: string, entry: OriginEntry, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  const handle = await open(file, 'wx', entry.executable ? 0o755 : 0o644);
  try {
    let bytes = 0;
    for await (const chunk of chunks) {
      bytes += chunk.length;
      if (bytes > entry.size) throw refused(`${JSON.stringify(entry.path)} is larger than it says`);
      await handle.writeFile(chunk);
    }
    if (bytes !== entry.size) throw refused(`${JSON.stringify(entry.path)} is smaller than it says`);
  } finally {
    await handle.close();
  }
}

async function staged(found: FoundSkill, directory: string): Promise<StagedSkill> {
  const inspection = await inspectSkill(directory);
  const file =
    inspection.files.find(({ path: name }) => name === 'SKILL.md') ?? inspection.files.find(({ path: name }) => /^skill\.md$/i.test(name));
  const place = path.join(directory, file?.path ?? 'SKILL.md');
  const parsed = await parseSkillFile(await readRegularFile(place, FILE_LIMIT), {
    id: path.basename(directory),
    file: place,
    mode: 'load',
  });
  return {
    kind: 'skill',
    id: found.id,
    path: found.path,
    directory,
    digest: await treeDigest(directory),
    bytes: inspection.files.reduce((sum, { size }) => sum + size, 0),
    inspection,
    description: parsed.fields.description,
    valid: parsed.valid,
    diagnostics: parsed.diagnostics.map((one) => ({ ...one, file: path.join(folderOf(found.id), path.basename(place)) })),
  };
}
