import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { type CommandIO, type JsonValue, PithError } from 'pith';
import type { InstalledSkill, SkillChange, SkillPlace } from 'pith/skill_registry';
import { renderTable, textColumns, widthOf } from '@pith/command-line';
import type { InstallContext } from '../install-context.ts';
import { folded, type Listing } from './entry.ts';
import { withListing } from './fetched.ts';
import { chosenSkills, type FoundSkill, foundSkills } from './found-skills.ts';
import { type Origin, originOf } from './origin.ts';
import { installedIn, placeOf, type Staging, withStaging } from './places.ts';
import { consent, previewJson, printPreview } from './preview.ts';
import { type StagedSkill, stageSkills } from './staged-skill.ts';

export interface InstallRequest {
  readonly from: string;
  readonly ref: string | undefined;
  readonly source: string;
  readonly skills: readonly string[];
  readonly all: boolean;
  readonly force: boolean;
  readonly yes: boolean;
}

/** Fetches, checks, shows, asks, and puts in place. Whatever fails, nothing is left. Resolves with the exit code. */
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
        await refuseTaken(context, place, chosen, request.force);
        const staged = await stageSkills(listing, chosen, path.join(staging.directory, 'new'));
        refuseInvalid(staged);
        signal.throwIfAborted();
        return confirmed(staging, { request, origin, listing, staged, context, io, signal });
      },
      signal,
    );
  return withStaging(context, place, work, signal);
}

interface Work {
  readonly request: InstallRequest;
  readonly origin: Origin;
  readonly listing: Listing;
  readonly staged: readonly StagedSkill[];
  readonly context: InstallContext;
  readonly io: CommandIO;
  readonly signal: AbortSignal;
}

async function confirmed(staging: Staging, { request, origin, listing, staged, context, io, signal }: Work): Promise<number> {
  const { place: target } = staging;
  const place = ({ id }: StagedSkill) => path.join(target.skills, id);
  const report = (installed: boolean): JsonValue => ({
    installed,
    source: target.source,
    origin: { ...origin },
    commit: listing.commit,
    skills: staged.map((skill) => previewJson(skill, place(skill))),
  });
  for (const skill of staged) printPreview(skill, place(skill), io);
  const what = staged.length === 1 ? `'${staged[0]!.id}'` : `${staged.length} skills`;
  let agreed: boolean;
  try {
    agreed = await consent(`Install ${what} into ${target.label}?`, staged, io, request.yes);
  } catch (error) {
    io.json(report(false));
    throw error;
  }
  if (!agreed) {
    io.print('Nothing was installed.');
    io.json(report(false));
    return 1;
  }
  const installedAt = new Date(context.clock.now()).toISOString();
  const changes = staged.map((skill) => ({
    ...changeOf(staging, skill, { origin: originWithin(origin, skill.path), commit: listing.commit, digest: skill.digest, installedAt }),
    ...(request.force ? {} : { expects: null }), // another process may have been quicker
  }));
  signal.throwIfAborted();
  await staging.change(changes);
  io.json(report(true));
  io.print(
    `Installed ${staged.map(({ id }) => id).join(', ')} into ${target.label}${listing.commit === null ? '' : ` (commit ${listing.commit.slice(0, 12)})`}.`,
  );
  if (!io.quiet) io.print(`Look at it with: pith skills show ${staged[0]!.id}`);
  return 0;
}

export function changeOf(staging: Staging, { id, directory }: StagedSkill, entry: InstalledSkill): SkillChange {
  return { folder: id, id, from: path.relative(staging.directory, directory), entry };
}

export function originWithin({ kind, location, ref }: Origin, folder: string): Origin {
  return { kind, location, ...(ref === undefined ? {} : { ref }), ...(folder === '' ? {} : { path: folder }) };
}

/** Throws `skill_invalid`: what would only be listed as broken is not installed. */
export function refuseInvalid(staged: readonly StagedSkill[]): void {
  const broken = staged.find(({ valid }) => !valid);
  if (broken === undefined) return;
  const error = broken.diagnostics.find(({ severity }) => severity === 'error');
  throw new PithError('skill_invalid', `its skill '${broken.id}' could not be used: it ${error?.message ?? 'is broken'}`, {
    where: `${error?.file ?? broken.id}:${error?.line ?? 1}`,
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

/** Throws `skill_exists`. */
async function refuseTaken(
  context: InstallContext,
  place: SkillPlace,
  wanted: readonly { readonly id: string }[],
  force: boolean,
): Promise<void> {
  const installed = await installedIn(context, place);
  const names = new Map((await readdir(place.skills)).map((name) => [folded(name), name]));
  for (const { id } of wanted) {
    const taken = names.get(folded(id));
    if (taken === undefined || (force && taken === id)) continue;
    throw new PithError('skill_exists', `${place.label} has '${taken}' already`, {
      where: path.join(place.skills, taken),
      cure: taken === id ? cureOf(id, installed.has(id)) : 'rename one of them',
    });
  }
}

function cureOf(id: string, installed: boolean): string {
  if (installed) return `bring it up to date with pith skills update ${id}, or replace it with --force`;
  return 'it was made by hand: rename it to keep it, or replace it with --force';
}
