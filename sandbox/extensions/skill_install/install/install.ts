import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { type CommandIO, type JsonValue, PithError } from 'pith';
import type { InstalledSkill, SkillChange, SkillPlace } from 'pith/skill_registry';
import { renderTable, textColumns, widthOf } from '@pith/command-line';
import { printableLine } from '@pith/plain-text';
import type { InstallContext } from '../install-context.ts';
import { folded, type Listing } from './entry.ts';
import { withListing } from './fetched.ts';
import { chosenSkills, type FoundSkill, foundSkills, unusable } from './found-skills.ts';
import { type Origin, originOf } from './origin.ts';
import { installedIn, placeOf, type Staging, withStaging } from './places.ts';
import { decisions, previewJson, printPreview } from './preview.ts';
import { type StagedSkill, stageSkill } from './staged-skill.ts';

export interface InstallRequest {
  readonly from: string;
  readonly ref: string | undefined;
  readonly source: string;
  readonly skills: readonly string[];
  readonly all: boolean;
  readonly force: boolean;
  readonly yes: boolean;
}

/** What became of one skill. */
interface Outcome {
  readonly found: FoundSkill;
  /** null where it could not be looked at. */
  readonly staged: StagedSkill | null;
  /** `skipped`: something stands in its place. */
  readonly state: 'installed' | 'declined' | 'refused' | 'skipped';
  readonly error: PithError | null;
}

/** Fetches, checks, shows, asks, and puts in place what is good of it, at once. Resolves with the exit code. Rejects with its error where the only skill is refused. */
export async function installSkills(request: InstallRequest, context: InstallContext, io: CommandIO, signal: AbortSignal): Promise<number> {
  const { clock } = context;
  const place = await placeOf(context, request.source, io);
  const origin = originOf(request.from, request.ref, io.workingDirectory);
  await installedIn(context, place); // a damaged lock file is reported before anything is fetched
  const work = (staging: Staging): Promise<number> =>
    withListing(
      origin,
      { staging: staging.directory, clock, allow: [origin.location] }, // typed a moment ago
      async (listing) => {
        const chosen = await choose(listing, request, origin, io);
        const outcomes = await outcomesOf(staging, { chosen, listing, origin, request, context, io, signal });
        return report(outcomes, { listing, origin, place, io });
      },
      signal,
    );
  return withStaging(context, place, work, signal);
}

interface Work {
  readonly chosen: readonly FoundSkill[];
  readonly listing: Listing;
  readonly origin: Origin;
  readonly request: InstallRequest;
  readonly context: InstallContext;
  readonly io: CommandIO;
  readonly signal: AbortSignal;
}

async function outcomesOf(staging: Staging, { chosen, listing, origin, request, context, io, signal }: Work): Promise<readonly Outcome[]> {
  const { place } = staging;
  const outcomes = new Map<FoundSkill, Outcome>();
  const taken = await takenIn(context, place, request.force);
  const ready = new Map<FoundSkill, StagedSkill>();
  for (const found of chosen) {
    signal.throwIfAborted();
    const problem = unusable(found, chosen);
    const exists = problem === null ? taken(found.id) : null;
    if (exists !== null) outcomes.set(found, { found, staged: null, state: 'skipped', error: exists });
    else {
      const staged = problem ?? (await good(() => stageSkill(listing, found, path.join(staging.directory, 'new'))));
      if (staged instanceof PithError) outcomes.set(found, { found, staged: null, state: 'refused', error: staged });
      else ready.set(found, staged);
    }
  }
  for (const skill of ready.values()) printPreview(skill, path.join(place.skills, skill.id), io);
  const decided = await decisions([...ready.values()], {
    io,
    yes: request.yes,
    question: (what) => `Install ${what} into ${place.label}?`,
  });
  const installedAt = new Date(context.clock.now()).toISOString();
  const changes: SkillChange[] = [];
  for (const [found, staged] of ready) {
    const decision = decided.get(staged)!;
    if (decision instanceof PithError) outcomes.set(found, { found, staged, state: 'refused', error: decision });
    else outcomes.set(found, { found, staged, state: decision ? 'installed' : 'declined', error: null });
    if (decision !== true) continue;
    changes.push({
      ...changeOf(staging, staged, {
        origin: originWithin(origin, staged.path),
        commit: listing.commit,
        digest: staged.digest,
        installedAt,
      }),
      ...(request.force ? {} : { expects: null }), // another process may have been quicker
    });
  }
  signal.throwIfAborted();
  if (changes.length > 0) await staging.change(changes);
  return chosen.map((found) => outcomes.get(found)!);
}

/** The skill as it lies in the staging folder, or why it is not installed. Rejects where that is no fault of the skill. */
async function good(stage: () => Promise<StagedSkill>): Promise<StagedSkill | PithError> {
  try {
    const staged = await stage();
    return invalid(staged) ?? staged;
  } catch (error) {
    if (error instanceof PithError && error.code === 'origin_refused') return error;
    throw error;
  }
}

function report(
  outcomes: readonly Outcome[],
  {
    listing: { commit },
    origin,
    place,
    io,
  }: { readonly listing: Listing; readonly origin: Origin; readonly place: SkillPlace; readonly io: CommandIO },
): number {
  const installed = outcomes.filter(({ state }) => state === 'installed');
  io.json({
    installed: installed.length > 0,
    source: place.source,
    origin: { ...origin },
    commit,
    skills: outcomes.map((outcome) => outcomeJson(outcome, place)),
  });
  const failed = outcomes.flatMap(({ found, error }) => (error === null ? [] : [{ id: found.id, error }]));
  if (outcomes.length === 1 && failed.length === 1) throw failed[0]!.error;
  for (const { id, error } of failed)
    io.error(`pith: ${printableLine(id)} was not installed: ${error.message}${placeText(error)}${cureText(error)}`);
  if (installed.length === 0) {
    io.print('Nothing was installed.');
    return 1;
  }
  const ids = installed.map(({ found: { id } }) => id);
  const of = failed.length === 0 ? '' : `, ${ids.length} of ${outcomes.length} skills`;
  io.print(`Installed ${ids.join(', ')} into ${place.label}${commit === null ? '' : ` (commit ${commit.slice(0, 12)})`}${of}.`);
  if (!io.quiet) io.print(`Look at it with: pith skills show ${ids[0]}`);
  return 0;
}

function outcomeJson({ found, staged, state, error }: Outcome, place: SkillPlace): JsonValue {
  const shown =
    staged === null ? { id: found.id, description: found.description } : previewJson(staged, path.join(place.skills, staged.id));
  if (error === null) return { ...shown, folder: found.path, state };
  const { code, message, where, cure } = error;
  return {
    ...shown,
    folder: found.path,
    state,
    error: { code, message, ...(where === undefined ? {} : { where }), ...(cure === undefined ? {} : { cure }) },
  };
}

function placeText({ where }: PithError): string {
  return where === undefined ? '' : ` (${where})`;
}

function cureText({ cure }: PithError): string {
  return cure === undefined ? '' : `; ${cure}`;
}

export function changeOf(staging: Staging, { id, directory }: StagedSkill, entry: InstalledSkill): SkillChange {
  return { folder: id, id, from: path.relative(staging.directory, directory), entry };
}

export function originWithin({ kind, location, ref }: Origin, folder: string): Origin {
  return { kind, location, ...(ref === undefined ? {} : { ref }), ...(folder === '' ? {} : { path: folder }) };
}

/** What would only be listed as broken is not installed; null where it would not. */
export function invalid({ id, valid, diagnostics }: StagedSkill): PithError | null {
  if (valid) return null;
  const error = diagnostics.find(({ severity }) => severity === 'error');
  return new PithError('skill_invalid', `its skill '${id}' could not be used: it ${error?.message ?? 'is broken'}`, {
    where: `${error?.file ?? id}:${error?.line ?? 1}`,
    cure: error?.cure ?? 'ask its author to fix it',
  });
}

async function choose(listing: Listing, { skills, all }: InstallRequest, origin: Origin, io: CommandIO): Promise<readonly FoundSkill[]> {
  const found = await foundSkills(listing, origin.path);
  try {
    return chosenSkills(found, skills, all);
  } catch (error) {
    if (found.length > 1) {
      const rows = found.map(({ id, path: folder, description }) => [id, folder || '.', description]);
      io.print(renderTable(rows, textColumns(['ID', 'FOLDER', 'DESCRIPTION']), widthOf(io)));
      io.json({
        installed: false,
        origin: { ...origin },
        found: found.map(({ id, path: folder, description }) => ({ id, path: folder, description })),
      });
    }
    throw error;
  }
}

/** Says of an id what stands in its place; null where nothing does, or where it may be replaced. */
async function takenIn(context: InstallContext, place: SkillPlace, force: boolean): Promise<(id: string) => PithError | null> {
  const installed = await installedIn(context, place);
  const names = new Map((await readdir(place.skills)).map((name) => [folded(name), name]));
  return (id) => {
    const taken = names.get(folded(id));
    if (taken === undefined || (force && taken === id)) return null;
    return new PithError('skill_exists', `${place.label} has '${printableLine(taken)}' already`, {
      where: path.join(place.skills, taken),
      cure: taken === id ? cureOf(id, installed.has(id)) : 'rename one of them',
    });
  };
}

function cureOf(id: string, installed: boolean): string {
  if (installed) return `bring it up to date with pith skills update ${id}, or replace it with --force`;
  return 'it was made by hand: rename it to keep it, or replace it with --force';
}
