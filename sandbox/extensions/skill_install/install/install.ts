import path from 'node:path';
import { type CommandIO, PithError } from 'pith';
import { type InstalledSkill, type SkillChange, SkillLibrary, type SkillPlace } from 'pith/skill_registry';
import { renderTable, textColumns, widthOf } from '@pith/command-line';
import { counted, printableLine } from '@pith/plain-text';
import type { InstallContext, Running } from '../install-context.ts';
import type { Listing } from './entry.ts';
import { withListing } from './fetched.ts';
import { chosenSkills, type FoundSkill, foundSkills, unusable } from './found-skills.ts';
import { type Origin, originOf } from './origin.ts';
import { type Outcome, report, whereTo } from './outcome.ts';
import { installedIn, placeOf, type Staging, withStaging } from './places.ts';
import { marksFor } from './plugin-mark.ts';
import { partsOf, type PluginPart, stagePart, partPlace } from './plugin-parts.ts';
import { chosenPlugins, type Plugin, pluginsIn, pluginThere, skillsOf, underNames } from './plugins.ts';
import { decisions, isSkill, printPreview } from './preview.ts';
import { folderOf } from './skill-id.ts';
import { type StagedItem, type StagedSkill, stageSkill } from './staged-skill.ts';
import { takenIn } from './taken.ts';

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

interface Installing extends Running {
  readonly request: InstallRequest;
}

/** One origin that is open. */
interface Opened {
  readonly origin: Origin;
  readonly listing: Listing;
  readonly found: readonly FoundSkill[];
}

/** What is wanted of it. */
interface Wanted extends Opened {
  readonly plugins: readonly Plugin[];
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
    const wanted = await choose({ origin, listing, found: await foundSkills(listing, origin.path) }, asking);
    commit = listing.commit;
    others = wanted.plugins.filter(({ elsewhere }) => elsewhere !== null);
    outcomes.push(...(await outcomesOf(staging, wanted, asking)));
  });
  for (const plugin of others)
    outcomes.push(...(request.plugins.includes(plugin.name) ? await outcomesElsewhere(plugin, place, asking) : [skippedPlugin(plugin)]));
  return report(outcomes, { origin, commit, place, io });
}

/** Of a plugin in another repository: where that cannot be fetched the plugin is refused, and what was installed before it stays. */
async function outcomesElsewhere(plugin: Plugin, place: SkillPlace, asking: Installing): Promise<readonly Outcome[]> {
  const { request, context, signal } = asking;
  const origin = plugin.elsewhere!;
  const outcomes: Outcome[] = [];
  try {
    await fetched(origin, place, { asking, allow: context.config.private_origins }, async (listing, staging) => {
      const opened = { origin, listing, found: await foundSkills(listing, origin.path) };
      outcomes.push(...(await outcomesOf(staging, ofPlugins(opened, [await pluginThere(listing, plugin)], request.skills), asking)));
    });
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof PithError)) throw error;
    outcomes.push(pluginOutcome(plugin, origin, 'refused', error));
  }
  return outcomes;
}

async function fetched(
  origin: Origin,
  place: SkillPlace,
  { asking: { context, signal }, allow }: { readonly asking: Installing; readonly allow: readonly string[] },
  work: (listing: Listing, staging: Staging) => Promise<void>,
): Promise<void> {
  const open = (staging: Staging) =>
    withListing(origin, { staging: staging.directory, clock: context.clock, allow }, (listing) => work(listing, staging), signal);
  await withStaging(context, place, open, signal);
}

async function choose(opened: Opened, { request: { skills: ids, plugins: names, all }, io }: Installing): Promise<Wanted> {
  const { origin, listing, found } = opened;
  // Who wants one skill is not held up by what a marketplace says.
  const known = ids.length > 0 && names.length === 0 ? [] : await pluginsIn(listing, origin.path ?? '');
  try {
    if (names.length > 0) return ofPlugins(opened, chosenPlugins(known, names), ids);
    if (all && known.length > 0) return { ...ofPlugins(opened, known, []), skills: underNames(found, known.filter(isHere)) };
    if (known.some(({ problem }) => problem === null)) throw choiceNeeded(found.length, known.length);
    return { ...opened, plugins: known, skills: chosenSkills(found, ids, all), parts: [] };
  } catch (error) {
    if (error instanceof PithError && error.code === 'skill_choice_needed' && ids.length === 0) offer(opened, known, io);
    throw error;
  }
}

function choiceNeeded(skills: number, plugins: number): PithError {
  const held = [...(skills === 0 ? [] : [counted(skills, 'skill')]), counted(plugins, 'plugin')];
  return new PithError('skill_choice_needed', `it contains ${held.join(' and ')}`, {
    cure: 'name a plugin with --plugin NAME or skills with --skill ID, or take --all',
  });
}

/** What these plugins bring, or of their skills those of these ids. */
function ofPlugins(opened: Opened, given: readonly Plugin[], ids: readonly string[]): Wanted {
  const { listing, found } = opened;
  const holds = (plugin: Plugin) =>
    plugin.unsupported.length > 0 || skillsOf(found, [plugin]).length > 0 || partsOf(listing, [plugin], found).length > 0;
  const cure = 'ask its author to fix it';
  const nothing = ({ name }: Plugin) =>
    new PithError('plugin_invalid', `its plugin '${printableLine(name)}' has no skill, command or agent`, { cure });
  const plugins = given.map((plugin) => (!isHere(plugin) || holds(plugin) ? plugin : { ...plugin, problem: nothing(plugin) }));
  const here = plugins.filter(isHere);
  const own = skillsOf(found, here);
  if (ids.length === 0) return { ...opened, plugins, skills: underNames(own, here), parts: partsOf(listing, here, found) };
  return { ...opened, plugins, skills: here.length === 0 ? [] : underNames(chosenSkills(own, ids, false), here), parts: [] };
}

function isHere({ elsewhere, problem }: Plugin): boolean {
  return elsewhere === null && problem === null;
}

/** What could have been chosen. */
function offer({ origin, found }: Opened, plugins: readonly Plugin[], io: CommandIO): void {
  const print = (rows: readonly (readonly string[])[], ...columns: readonly string[]) => {
    if (rows.length > 0) io.print(renderTable(rows, textColumns(columns), widthOf(io)));
  };
  print(
    plugins.map((plugin) => [printableLine(plugin.name, 80), plugin.elsewhere?.location ?? (plugin.folder || '.'), plugin.description]),
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

async function outcomesOf(staging: Staging, wanted: Wanted, asking: Installing): Promise<readonly Outcome[]> {
  const staged = await stageAll(staging, wanted, asking);
  return [...(await putInPlace(staging, staged, asking)), ...wanted.plugins.flatMap((plugin) => ofPlugin(plugin, wanted.origin))];
}

/** Each in the staging folder, still as if somebody had declined it, or why it is not installed. */
async function stageAll(staging: Staging, wanted: Wanted, { request, context, signal }: Installing): Promise<readonly Outcome[]> {
  const { skills, parts, listing, origin } = wanted;
  const { place, directory } = staging;
  const partsIn = partPlace(context, place);
  const [taken, hidden] = [await takenIn(context, place, request.force), await hiddenBy(context, place)];
  const source = { origin, commit: listing.commit };
  const outcomes: Outcome[] = [];
  const usable: FoundSkill[] = [];
  for (const skill of skills) {
    signal.throwIfAborted();
    const { id, path: from } = skill;
    const hides = hidden.get(id);
    const stageIt = async () => ({
      ...(await stageSkill(listing, skill, path.join(directory, 'new'))),
      ...(hides === undefined ? {} : { hides }),
    });
    const problem = unusable(skill, usable);
    const result = problem === null ? await tried(await taken(id), stageIt, invalid) : refusal('refused', problem);
    if (result.item !== null) usable.push(skill);
    outcomes.push({ ...source, kind: 'skill', id, from, place: path.join(place.skills, folderOf(id)), ...result });
  }
  for (const part of parts) {
    signal.throwIfAborted();
    const { kind, id, entry } = part;
    const result = await tried(await partsIn.taken(part), () => stagePart(listing, part, path.join(directory, 'parts')));
    outcomes.push({ ...source, kind, id, from: entry.path, place: partsIn.fileOf(part), ...result });
  }
  return outcomes;
}

type Result = Pick<Outcome, 'item' | 'state' | 'error'>;

/** Skipped where something `exists` in its place. Rejects where a failure is no fault of its own. */
async function tried<T extends StagedItem>(
  exists: PithError | null,
  stageIt: () => Promise<T>,
  problemOf: (item: T) => PithError | null = () => null,
): Promise<Result> {
  if (exists !== null) return refusal('skipped', exists);
  try {
    const item = await stageIt();
    const problem = problemOf(item);
    return problem === null ? { item, state: 'declined', error: null } : refusal('refused', problem);
  } catch (error) {
    if (error instanceof PithError && error.code === 'origin_refused') return refusal('refused', error);
    throw error;
  }
}

function refusal(state: 'refused' | 'skipped', error: PithError): Result {
  return { item: null, state, error };
}

/** Shows what is staged, asks, and puts in place what was agreed to. */
async function putInPlace(
  staging: Staging,
  staged: readonly Outcome[],
  { request, context, io, signal }: Installing,
): Promise<readonly Outcome[]> {
  const { place } = staging;
  const items = staged.flatMap(({ item }) => item ?? []);
  for (const { item, place: into } of staged) if (item !== null) printPreview(item, into!, io);
  const question = (what: string) => `Install ${what} into ${whereTo(items, place)}?`;
  const decided = await decisions(items, { io, yes: request.yes, question });
  const installedAt = new Date(context.clock.now()).toISOString();
  const changes = staged.flatMap(({ item, origin, commit }): readonly SkillChange[] => {
    if (item === null || !isSkill(item) || decided.get(item) !== true) return [];
    const entry = { origin: originWithin(origin, item.path), commit, digest: item.digest, installedAt };
    return [{ ...changeOf(staging, item, entry), ...(request.force ? {} : { expects: null }) }]; // another process may have been quicker
  });
  signal.throwIfAborted();
  if (changes.length > 0) await staging.change([...(await marksFor(staging, changes)), ...changes], { how: 'install', by: 'person' });
  const outcomes: Outcome[] = [];
  for (const outcome of staged) {
    const { item } = outcome;
    const decision = item !== null && decided.get(item)!;
    if (item === null || decision === false) outcomes.push(outcome);
    else {
      const error = decision !== true ? decision : isSkill(item) ? null : await partPlace(context, place).put(item);
      outcomes.push({ ...outcome, state: error === null ? 'installed' : 'refused', error });
    }
  }
  return outcomes;
}

function skippedPlugin(plugin: Plugin): Outcome {
  const origin = plugin.elsewhere!;
  const error = new PithError('plugin_elsewhere', `it lies in ${printableLine(origin.location)}`, {
    cure: `take it with --plugin ${printableLine(plugin.name)}`,
  });
  return pluginOutcome(plugin, origin, 'skipped', error);
}

/** What is said of a plugin beside its skills and parts. */
function ofPlugin(plugin: Plugin, origin: Origin): readonly Outcome[] {
  const { unsupported, problem } = plugin;
  if (problem !== null) return [pluginOutcome(plugin, origin, 'refused', problem)];
  if (unsupported.length === 0) return [];
  const cure = unsupported.includes('MCP servers') ? 'set MCP servers up by hand, as docs/mcp.md says' : 'do without them';
  const error = new PithError('plugin_part_unsupported', `it also has ${unsupported.join(', ')}, for which Pith has no place`, { cure });
  return [pluginOutcome(plugin, origin, 'skipped', error)];
}

function pluginOutcome({ name, folder }: Plugin, origin: Origin, state: 'refused' | 'skipped', error: PithError): Outcome {
  return { kind: 'plugin', id: name, from: folder, origin, commit: null, item: null, place: null, state, error };
}

export function changeOf(staging: Staging, { id, directory }: StagedSkill, entry: InstalledSkill): SkillChange {
  return { folder: folderOf(id), id, from: path.relative(staging.directory, directory), entry };
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

/** By id, the source of each skill that is offered now and that one in this place hides: the project's place wins over all others, the person's over what ships. */
async function hiddenBy(context: InstallContext, { source: kind, label }: SkillPlace): Promise<ReadonlyMap<string, string>> {
  const { skills } = await context.use(SkillLibrary).records();
  const loses = (source: string) => source !== label && (kind === 'project' || source === 'bundled');
  return new Map(skills.filter(({ state, source }) => state === 'offered' && loses(source)).map(({ id, source }) => [id, source]));
}
