import { mkdir, rm } from 'node:fs/promises';
import { existsSync, renameSync } from 'node:fs';
import path from 'node:path';
import { randomUUID } from 'node:crypto';
import { canonicalJson, sha256 } from '@pith/plain-data';
import { type StateFolder } from '@pith/safe-files';
import { copySkill } from '@pith/skill-files';
import { EVALS } from '../cases/case-files.ts';
import { QUERIES } from '../cases/foreign-cases.ts';
import type { Side } from './run-store.ts';

/** A folder of a skill, which stays as it is while runs use it. */
export interface KeptFolder {
  readonly side: Side;
  /** Absolute. Its name is the skill's id. */
  readonly directory: string;
}

/** The digest of a skill's files without its cases: what its runs depend on. null: the folder is gone. */
export async function sideOf(directory: string): Promise<Side | null> {
  const digests = await copySkill(directory, null);
  if (digests === null) return null;
  const files = [...digests].filter(([file]) => !isOfCases(file)).sort(([a], [b]) => (a < b ? -1 : 1));
  return `sha256:${sha256(canonicalJson(files.map(([file, { sha256: digest, executable }]) => [file, digest, executable])))}`;
}

/** Copies a skill without its cases, which no agent may see, under its digest. null: the folder is gone. */
export async function keepFolder(folders: StateFolder, id: string, directory: string, signal?: AbortSignal): Promise<KeptFolder | null> {
  const side = await sideOf(directory);
  if (side === null) return null;
  const place = folders.folder(side.replace(':', '-'));
  const kept = path.join(place.path, id);
  if (existsSync(kept)) return { side, directory: kept };
  const draft = path.join(place.make(), `.${randomUUID()}`);
  await copyWithoutCases(directory, draft, signal);
  if (existsSync(kept)) await rm(draft, { recursive: true, force: true });
  else renameSync(draft, kept);
  return { side, directory: kept };
}

export async function copyWithoutCases(directory: string, to: string, signal?: AbortSignal): Promise<void> {
  await mkdir(to, { recursive: true });
  await copySkill(directory, to, signal);
  for (const name of [EVALS, ...QUERIES]) await rm(path.join(to, name), { recursive: true, force: true });
}

function isOfCases(file: string): boolean {
  return file.startsWith(`${EVALS}/`) || (QUERIES as readonly string[]).includes(file);
}
