import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { type CommandIO, PithError } from 'pith';
import type { InstalledSkill, SkillChange, SkillPlace } from 'pith/skill_registry';
import { renderTable, textColumns, widthOf } from '@pith/command-line';
import { printableLine } from '@pith/plain-text';
import type { InstallContext } from '../install-context.ts';
import { folded, type Listing } from './entry.ts';
import { withListing } from './fetched.ts';
import { chosenSkills, type FoundSkill, foundSkills, unusable } from './found-skills.ts';
import { type Origin, originOf } from './origin.ts';
import { type Outcome, report } from './outcome.ts';
import { installedIn, placeOf, type Staging, withStaging } from './places.ts';
import { partsOf, type PluginPart, stagePart } from './plugin-parts.ts';
import { partPlace } from './part-place.ts';
import { chosenPlugins, type Plugin, pluginsIn, skillsOf } from './plugins.ts';
import { decisions, printPreview } from './preview.ts';
import { type StagedItem, type StagedSkill, stageSkill } from './staged-skill.ts';

export interface InstallRequest {
  readonly from: string;
  readonly ref: string | undefined;
  readonly source: string;
  readonly skills: readonly string[];
  readonly plugins: readonly string[];
  readonly all: boolean;
  readonly force: boolean;
  readonly yes: boolean;
}

interface Asking {
  readonly request: InstallRequest;
  readonly context: InstallContext;
  readonly io: CommandIO;
  readonly signal: AbortSignal;
}

/** What is wanted of one origin. */
interface Wanted {
  readonly origin: Origin;
  readonly listing: Listing;
  readonly skills: readonly FoundSkill[];
  readonly parts: readonly PluginPart[];
}

/** Fetches, checks, shows, asks, and puts in place what is good of it. Resolves with the exit code. Rejects with its error where only one was wanted and it is refused. */
export async function installSkills(request: InstallRequest, context: InstallContext, io: CommandIO, signal: AbortSignal): Promise<number> {
  const place = await placeOf(context, request.source, io);
  const origin = originOf(request.from, request.ref, io.workingDirectory);
  await installedIn(context, place); // a damaged lock file is reported before anything is fetched
  const asking = { request, context, io, signal };
  let others: readonly Plugin[] = [];
  const outcomes: Outcome[] = [];
  let commit: string | null = null;
  // What a person typed a moment ago may lie anywhere.
  await fetched(origin, place, { asking, allow: [origin.location] }, async (listing, staging) => {
    const { wanted, plugins } = await choose(listing, origin, asking);
    commit = listing.commit;
    others = plugins.filter(({ elsewhere }) => elsewhere !== null);
    outcomes.push(...(await outcomesOf(staging, wanted, asking)), ...untaken(plugins));
  });
  for (const plugin of others) {
    if (!request.plugins.includes(plugin.name)) outcomes.push(skippedPlugin(plugin));
    else outcomes.push(...(await outcomesElsewhere(plugin, place, asking)));
  }
  return report(outcomes, { origin, commit, place, io });
}

/** Of a plugin in another repository. What was installed before is reported, whatever becomes of it. */
async function outcomesElsewhere({ name, elsewhere }: Plugin, place: SkillPlace, asking: Asking): Promise<readonly Outcome[]> {
  const [origin, outcomes]: [Origin, Outcome[]] = [elsewhere!, []];
  try {
    await fetched(origin, place, { asking, allow: asking.context.config.private_origins }, async (listing, staging) => {
      const [own, ...more] = await pluginsIn(listing, origin.path ?? '');
      const plugins = own === undefined || more.length > 0 ? [] : [own];
      const skills = await foundSkills(listing, origin.path);
      const chosen = plugins.length === 0 ? skills : skillsOf(skills, plugins);
      const wanted = { origin, listing, skills: chosen, parts: partsOf(listing, plugins, skills) };
      outcomes.push(...(await outcomesOf(staging, wanted, asking)), ...untaken(plugins));
    });
  } catch (error) {
    asking.signal.throwIfAborted();
    if (!(error instanceof PithError)) throw error;
    outcomes.push(refusedPlugin(name, error));
  }
  return outcomes;
}

async function fetched(
  origin: Origin,
  place: SkillPlace,
  { asking: { context, signal }, allow }: { readonly asking: Asking; readonly allow: readonly string[] },
  work: (listing: Listing, staging: Staging) => Promise<void>,
): Promise<void> {
  const open = (staging: Staging) =>
    withListing(origin, { staging: staging.directory, clock: context.clock, allow }, (listing) => work(listing, staging), signal);
  await withStaging(context, place, open, signal);
}

async function choose(
  listing: Listing,
  origin: Origin,
  { request: { skills, plugins: named, all }, io }: Asking,
): Promise<{ readonly wanted: Wanted; readonly plugins: readonly Plugin[] }> {
  // Who wants one skill is not held up by what a marketplace says.
  const known = skills.length > 0 && named.length === 0 ? [] : await pluginsIn(listing, origin.path ?? '');
  const found = await foundSkills(listing, origin.path);
  try {
    if (named.length > 0) {
      const plugins = chosenPlugins(known, named);
      const own = skillsOf(found, plugins.filter(isHere));
      const chosen = skills.length === 0 ? own : chosenSkills(own, skills, false);
      return {
        wanted: { origin, listing, skills: chosen, parts: skills.length === 0 ? partsOf(listing, plugins.filter(isHere), found) : [] },
        plugins,
      };
    }
    const plugins = skills.length === 0 && all ? known : [];
    const chosen = found.length === 0 && plugins.length > 0 ? [] : chosenSkills(found, skills, all);
    return { wanted: { origin, listing, skills: chosen, parts: partsOf(listing, plugins.filter(isHere), found) }, plugins };
  } catch (error) {
    const isChoice = error instanceof PithError && error.code === 'skill_choice_needed' && skills.length === 0;
    if (isChoice) offer(found, known, origin, io);
    if (!isChoice || known.length === 0) throw error;
    throw new PithError('skill_choice_needed', `${error.message} and ${known.length === 1 ? '1 plugin' : `${known.length} plugins`}`, {
      cure: 'name a plugin with --plugin NAME or skills with --skill ID, or take --all',
    });
  }
}

function isHere({ elsewhere, problem }: Plugin): boolean {
  return elsewhere === null && problem === null;
}

/** What could have been chosen. */
function offer(found: readonly FoundSkill[], plugins: readonly Plugin[], origin: Origin, io: CommandIO): void {
  const print = (rows: readonly (readonly string[])[], ...columns: readonly string[]) => {
    if (rows.length > 0) io.print(renderTable(rows, textColumns(columns), widthOf(io)));
  };
  print(
    plugins.map((plugin) => [plugin.name, plugin.elsewhere?.location ?? (plugin.folder || '.'), plugin.description]),
    'PLUGIN',
    'LIES IN',
    'DESCRIPTION',
  );
  print(
    found.map(({ id, path: folder, description }) => [id, folder || '.', description]),
    'ID',
    'FOLDER',
    'DESCRIPTION',
  );
  io.json({
    installed: false,
    origin: { ...origin },
    found: found.map(({ id, path: folder, description }) => ({ id, path: folder, description })),
    ...(plugins.length === 0 ? {} : { plugins: plugins.map(({ name, description }) => ({ name, description })) }),
  });
}

async function outcomesOf(staging: Staging, { skills, parts, listing, origin }: Wanted, asking: Asking): Promise<readonly Outcome[]> {
  const { request, context, io, signal } = asking;
  const { place } = staging;
  const [taken, partsIn] = [await takenIn(context, place, request.force), partPlace(context, place)];
  const outcomes = new Map<FoundSkill | PluginPart, Outcome>();
  const ready = new Map<FoundSkill | PluginPart, StagedItem>();
  const refuse = (wanted: FoundSkill | PluginPart, kind: Outcome['kind'], state: Outcome['state'], error: PithError) =>
    outcomes.set(wanted, {
      kind,
      id: wanted.id,
      from: 'entry' in wanted ? wanted.entry.path : wanted.path,
      item: null,
      place: null,
      state,
      error,
    });
  const stagedSkills = new Map<FoundSkill, StagedSkill>();
  for (const skill of skills) {
    signal.throwIfAborted();
    const problem = unusable(skill, [...stagedSkills.keys()]);
    const exists = problem === null ? taken(skill.id) : null;
    const staged = problem ?? exists ?? (await good(() => stageSkill(listing, skill, path.join(staging.directory, 'new')), invalid));
    if (staged instanceof PithError) refuse(skill, 'skill', exists === null ? 'refused' : 'skipped', staged);
    else {
      ready.set(skill, staged);
      stagedSkills.set(skill, staged);
    }
  }
  for (const part of parts) {
    signal.throwIfAborted();
    const exists = await partsIn.taken(part);
    const staged = exists ?? (await good(() => stagePart(listing, part, path.join(staging.directory, 'parts'))));
    if (staged instanceof PithError) refuse(part, part.kind, exists === null ? 'refused' : 'skipped', staged);
    else ready.set(part, staged);
  }
  const placeFor = (item: StagedItem) => (item.kind === 'skill' ? path.join(place.skills, item.id) : partsIn.fileOf(item));
  for (const item of ready.values()) printPreview(item, placeFor(item), io);
  const decided = await decisions([...ready.values()], {
    io,
    yes: request.yes,
    question: (what) => `Install ${what} into ${place.label}?`,
  });
  const agreed = new Set([...ready].filter(([, item]) => decided.get(item) === true).map(([wanted]) => wanted));
  const installedAt = new Date(context.clock.now()).toISOString();
  const changes = [...stagedSkills]
    .filter(([skill]) => agreed.has(skill))
    .map(([, staged]): SkillChange => ({
      ...changeOf(staging, staged, {
        origin: originWithin(origin, staged.path),
        commit: listing.commit,
        digest: staged.digest,
        installedAt,
      }),
      ...(request.force ? {} : { expects: null }), // another process may have been quicker
    }));
  signal.throwIfAborted();
  if (changes.length > 0) await staging.change(changes);
  for (const [wanted, item] of ready) {
    const decision = decided.get(item)!;
    const error = decision instanceof PithError ? decision : agreed.has(wanted) && item.kind !== 'skill' ? await partsIn.put(item) : null;
    const state = error !== null ? 'refused' : agreed.has(wanted) ? 'installed' : 'declined';
    outcomes.set(wanted, { kind: item.kind, id: item.id, from: item.path, item, place: placeFor(item), state, error });
  }
  return [...skills, ...parts].map((wanted) => outcomes.get(wanted)!);
}

/** What lies in the staging folder, or why it is not installed. Rejects where that is no fault of its own. */
async function good<T extends StagedItem>(
  stage: () => Promise<T>,
  problemOf: (staged: T) => PithError | null = () => null,
): Promise<T | PithError> {
  try {
    const staged = await stage();
    return problemOf(staged) ?? staged;
  } catch (error) {
    if (error instanceof PithError && error.code === 'origin_refused') return error;
    throw error;
  }
}

function refusedPlugin(name: string, error: PithError): Outcome {
  return { kind: 'plugin', id: name, from: '', item: null, place: null, state: 'refused', error };
}

function skippedPlugin({ name, elsewhere }: Plugin): Outcome {
  const error = new PithError('plugin_elsewhere', `it lies in ${printableLine(elsewhere!.location)}`, {
    cure: `take it with --plugin ${printableLine(name)}`,
  });
  return { kind: 'plugin', id: name, from: '', item: null, place: null, state: 'skipped', error };
}

/** What of plugins cannot be taken. */
function untaken(plugins: readonly Plugin[]): readonly Outcome[] {
  return plugins.flatMap(({ name, folder, unsupported, problem }): readonly Outcome[] => {
    const plain = { kind: 'plugin', id: name, from: folder, item: null, place: null } as const;
    if (problem !== null) return [{ ...plain, state: 'refused', error: problem }];
    if (unsupported.length === 0) return [];
    const cure = unsupported.includes('MCP servers') ? 'set MCP servers up by hand, as docs/mcp.md says' : 'do without them';
    const error = new PithError('plugin_part_unsupported', `it also has ${unsupported.join(', ')}, for which Pith has no place`, { cure });
    return [{ ...plain, state: 'skipped', error }];
  });
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
