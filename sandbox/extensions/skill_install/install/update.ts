import path from 'node:path';
import { mkdir } from 'node:fs/promises';
import { codeOf, type CommandIO, type JsonValue, messageOf, PithError } from 'pith';
import type { SkillPlace } from 'pith/skill_registry';
import { didYouMean, printable, printableLine, withCure } from '@pith/plain-text';
import { type FileChange, folderDiff, folderDiffLines } from '@pith/skill-files';
import type { InstallContext, Running } from '../install-context.ts';
import type { Listing } from './entry.ts';
import { withListing } from './fetched.ts';
import { type FoundSkill, foundSkills } from './found-skills.ts';
import { changeOf, invalid, originWithin } from './install.ts';
import { digestOf, type Installed, installedIn, placeOf, placesOf, type Staging, withStaging } from './places.ts';
import { decisions, previewJson, printPreview } from './preview.ts';
import { folderOf, idsMeant } from './skill-id.ts';
import { type StagedSkill, stageSkill } from './staged-skill.ts';

export interface UpdateRequest {
  /** Skills, or plugins for all of theirs. None: all that are installed. */
  readonly ids: readonly string[];
  readonly source: string | undefined;
  readonly force: boolean;
  readonly yes: boolean;
}

/** `current`: nothing new. `edited`: something new, and changes by hand that it would overwrite. */
type Result =
  | { readonly id: string; readonly state: 'current' | 'updated' | 'declined'; readonly json?: { readonly [key: string]: JsonValue } }
  | { readonly id: string; readonly state: 'edited' | 'failed'; readonly error: { readonly code: string; readonly message: string } };

interface Candidate {
  readonly id: string;
  readonly entry: Installed;
  readonly staged: StagedSkill;
  readonly commit: string | null;
  readonly files: readonly FileChange[];
}

const SHOWN_LINES = 400;

/** Fetches what the lock files name, shows what is new, and puts it in place. Resolves with the exit code. */
export async function updateSkills(request: UpdateRequest, context: InstallContext, io: CommandIO, signal: AbortSignal): Promise<number> {
  const targets = request.source === undefined ? await placesOf(context, io) : [await placeOf(context, request.source, io)];
  const wanted = await wantedOf(context, targets, request.ids);
  const results: (Result & { readonly target: SkillPlace })[] = [];
  for (const [target, entries] of wanted) {
    if (entries.size === 0) continue;
    const work = async (staging: Staging): Promise<void> => {
      const done = await updateIn(staging, entries, request, { context, io, signal });
      results.push(...done.map((result) => ({ ...result, target })));
    };
    await withStaging(context, target, work, signal);
  }
  for (const result of results) {
    const { id, target } = result;
    const twice = results.some((other) => other.id === id && other.target !== target);
    const name = twice ? `${target.label}/${id}` : id;
    if ('error' in result) io.error(`pith: ${name}: ${result.error.message}`);
    else if (result.state !== 'declined') io.print(`${name}: ${result.state === 'current' ? 'up to date' : 'updated'}`);
  }
  if (results.length === 0) io.print('No skill was installed with pith skills install.');
  io.json(
    results.map(({ target: { source }, ...result }) =>
      'error' in result ? { ...result, source } : { id: result.id, state: result.state, source, ...result.json },
    ),
  );
  return results.some(({ state }) => state === 'failed' || state === 'edited' || state === 'declined') ? 1 : 0;
}

async function wantedOf(
  context: InstallContext,
  targets: readonly SkillPlace[],
  ids: readonly string[],
): Promise<readonly (readonly [SkillPlace, ReadonlyMap<string, Installed>])[]> {
  const locks = await Promise.all(targets.map(async (target) => [target, await installedIn(context, target)] as const));
  if (ids.length === 0) return locks;
  const known = locks.flatMap(([, lock]) => [...lock.keys()]);
  const chosen = new Map(targets.map((target) => [target, new Map<string, Installed>()]));
  for (const id of ids) {
    const [target, lock] = locks.find(([, entries]) => idsMeant(id, entries.keys()).length > 0) ?? [];
    if (target === undefined || lock === undefined)
      throw new PithError('skill_not_installed', `no skill '${printableLine(id)}' was installed${didYouMean(id, known)}`, {
        cure: 'what was made by hand has no origin to update from; see skills.lock.json',
      });
    for (const one of idsMeant(id, lock.keys())) chosen.get(target)!.set(one, lock.get(one)!);
  }
  return [...chosen];
}

async function updateIn(
  staging: Staging,
  entries: ReadonlyMap<string, Installed>,
  { force, yes }: UpdateRequest,
  { context, io, signal }: Running,
): Promise<readonly Result[]> {
  const { clock } = context;
  const { place: target } = staging;
  const results: Result[] = [];
  const candidates: Candidate[] = [];
  for (const [at, group] of groupsOf(entries).entries()) {
    const [first] = group;
    try {
      const directory = path.join(staging.directory, `origin-${at}`);
      await mkdir(directory);
      await withListing(
        first![1].origin,
        { staging: directory, clock, allow: context.config.private_origins }, // the lock file comes with the project: what it names must be public
        async (listing) => {
          for (const [id, entry] of group) {
            const installed = path.join(target.skills, folderOf(id));
            const candidate = await candidateOf(listing, id, entry, { folder: path.join(directory, 'new'), installed }).catch(
              (error: unknown) => void results.push(failure(id, error)),
            );
            if (candidate === undefined) continue;
            const now = await digestOf(installed);
            if (now === null && !force) results.push({ id, state: 'edited', error: GONE });
            else if (now !== null && candidate.staged.digest === entry.digest) results.push({ id, state: 'current' });
            else if (now !== entry.digest && !force) results.push({ id, state: 'edited', error: EDITED });
            else candidates.push(candidate);
          }
        },
        signal,
      );
    } catch (error) {
      signal.throwIfAborted();
      for (const [id] of group)
        if (!results.some((result) => result.id === id) && !candidates.some((one) => one.id === id)) results.push(failure(id, error));
    }
  }
  if (candidates.length === 0) return results;
  for (const { staged, files } of candidates) {
    printPreview(staged, path.join(target.skills, folderOf(staged.id)), io);
    printDiff(files, io);
  }
  const decided = await decisions(
    candidates.map(({ staged }) => staged),
    { io, yes, question: (what) => `Update ${what} in ${target.label}?` },
  );
  const agreed = candidates.filter(({ staged }) => decided.get(staged) === true);
  if (agreed.length > 0) {
    const installedAt = new Date(clock.now()).toISOString();
    const changes = agreed.map(({ entry, staged, commit }) => ({
      ...changeOf(staging, staged, { origin: originWithin(entry.origin, staged.path), commit, digest: staged.digest, installedAt }),
      ...(force ? {} : { expects: entry.digest }), // somebody may have changed it while a person was reading
    }));
    signal.throwIfAborted();
    await staging.change(changes, { how: 'update', by: 'person' });
  } else io.print('Nothing was updated.');
  const found = candidates.map(({ id, entry, staged, commit: now, files }): Result => {
    const decision = decided.get(staged)!;
    if (decision instanceof PithError) return failure(id, decision);
    const preview = previewJson(staged, path.join(target.skills, folderOf(id)));
    const json = {
      ...preview,
      from: { commit: entry.commit, digest: entry.digest },
      to: { commit: now, digest: staged.digest },
      changes: files.map(({ path: name, change, patch }) => ({ path: name, change, patch })),
    };
    return { id, state: decision ? 'updated' : 'declined', json };
  });
  return [...results, ...found];
}

const EDITED = {
  code: 'skill_edited',
  message: 'it was changed by hand since it was installed, and its origin has something new; keep yours, or take the new one with --force',
};

const GONE = {
  code: 'skill_edited',
  message: 'its folder is gone; put it back with --force, or forget it with pith skills remove',
};

/** Skills of one origin are fetched together. */
function groupsOf(entries: ReadonlyMap<string, Installed>): readonly (readonly (readonly [string, Installed])[])[] {
  const groups = new Map<string, (readonly [string, Installed])[]>();
  for (const one of entries) {
    const { kind, location, ref } = one[1].origin;
    const key = JSON.stringify([kind, location, ref]);
    groups.set(key, [...(groups.get(key) ?? []), one]);
  }
  return [...groups.values()];
}

async function candidateOf(
  listing: Listing,
  id: string,
  entry: Installed,
  { folder, installed }: { readonly folder: string; readonly installed: string },
): Promise<Candidate> {
  const found = await sameSkill(listing, id, entry.origin.path ?? '');
  if (found.problem !== null) throw found.problem;
  const staged = await stageSkill(listing, { ...found, id }, folder);
  const problem = invalid(staged);
  if (problem !== null) throw problem;
  return { id, entry, staged, commit: listing.commit, files: await folderDiff(installed, staged.directory) };
}

/** Where it was, else wherever it is now. */
async function sameSkill(listing: Listing, id: string, folder: string): Promise<FoundSkill> {
  const there = (await foundSkills(listing, folder)).find(({ path: place }) => place === folder);
  if (there !== undefined) return there;
  const moved = (await foundSkills(listing)).filter((skill) => skill.id === path.basename(folderOf(id)));
  if (moved.length === 1) return moved[0]!;
  throw new PithError('skill_not_found', 'its origin does not have it any more', {
    cure: `keep it, or remove it with pith skills remove ${id}`,
  });
}

function failure(id: string, error: unknown): Result {
  const message = withCure(messageOf(error), error instanceof PithError ? error.cure : undefined);
  return { id, state: 'failed', error: { code: codeOf(error, 'install_failed'), message } };
}

function printDiff(files: readonly FileChange[], io: CommandIO): void {
  const lines = folderDiffLines(files);
  for (const line of lines.slice(0, SHOWN_LINES)) io.print(printable(line));
  if (lines.length > SHOWN_LINES) io.print(`… and ${lines.length - SHOWN_LINES} more lines`);
}
