import { mkdir, open } from 'node:fs/promises';
import path from 'node:path';
import type { Diagnostic } from 'pith';
import { FILE_LIMIT, parseSkillFile, readRegularFile, treeDigest } from '@pith/skill-files';
import type { SkillInspection } from '../safety/scan-finding.ts';
import { inspectSkill } from '../safety/inspection.ts';
import { checkNames, LIMITS, type Listing, type OriginEntry, refused } from './entry.ts';
import type { FoundSkill } from './found-skills.ts';

/** A skill that lies whole and checked in the staging folder. */
export interface StagedSkill {
  readonly id: string;
  /** Its folder in the origin; empty for the top. */
  readonly path: string;
  /** Where it is staged. */
  readonly directory: string;
  readonly digest: string;
  readonly bytes: number;
  readonly inspection: SkillInspection;
  readonly description: string;
  /** False: it would be listed as invalid. */
  readonly valid: boolean;
  /** What loading says of it. */
  readonly diagnostics: readonly Diagnostic[];
}

/** Writes the files of `found` into `folder` as `folder/<id>`. Rejects `origin_refused` for whatever is no plain file, too much, or not what it said. */
export async function stageSkills(listing: Listing, found: readonly FoundSkill[], folder: string): Promise<readonly StagedSkill[]> {
  const files = found.flatMap(({ entries }) => entries);
  if (files.length > LIMITS.files) throw refused(`it holds ${files.length} files; at most ${LIMITS.files} are allowed`);
  const total = files.reduce((sum, { size }) => sum + size, 0);
  if (total > LIMITS.bytes) throw refused(`it holds more than ${LIMITS.bytes / 1024 / 1024} MB`);
  for (const skill of found) {
    checkNames(skill.entries.map((entry) => insideOf(skill, entry)));
    const odd = skill.entries.find(({ kind }) => kind !== 'file');
    if (odd !== undefined) throw refused(`its entry ${JSON.stringify(odd.path)} is ${odd.kind === 'link' ? 'a link' : 'no file'}`);
  }
  const places = new Map(
    found.flatMap((skill) => skill.entries.map((entry) => [entry, path.join(folder, skill.id, insideOf(skill, entry))] as const)),
  );
  for (const place of new Set([...places.values()].map((file) => path.dirname(file)))) await mkdir(place, { recursive: true });
  for await (const { entry, chunks } of listing.read(files)) await writeEntry(places.get(entry)!, entry, chunks);
  return Promise.all(found.map((skill) => staged(skill, path.join(folder, skill.id))));
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
  const parsed = await parseSkillFile(await readRegularFile(place, FILE_LIMIT), { id: found.id, file: place, mode: 'load' });
  return {
    id: found.id,
    path: found.path,
    directory,
    digest: await treeDigest(directory),
    bytes: inspection.files.reduce((sum, { size }) => sum + size, 0),
    inspection,
    description: parsed.fields.description,
    valid: parsed.valid,
    diagnostics: parsed.diagnostics.map((one) => ({ ...one, file: path.join(found.id, path.basename(place)) })),
  };
}
