import { type CommandInput, PithError } from '../../contract/index.ts';
import type { ActingUser } from '@pith/command-line';
import { didYouMean, printableLine } from '@pith/plain-text';
import type { Kernel } from '../../compose/index.ts';
import { isAdmin } from '../../declarations/index.ts';
import { type JobFilter, type JobRow, type State, STATES } from '../../durable/index.ts';

export type Filter = Omit<JobFilter, 'limit'>;

/** What the options of a command narrow the jobs to; without keys: nothing. */
export async function filterOf(kernel: Kernel, { options }: CommandInput): Promise<Filter> {
  const { name } = options;
  const states = [options['state'] ?? []].flat().map(stateOf);
  return {
    ...(typeof name === 'string' ? await named(kernel, name) : {}),
    ...laneAndOwner(options),
    ...(states.length > 0 ? { states } : {}),
  };
}

/** Those that are given. Throws `usage` for an empty one: a script's variable was not set. */
export function laneAndOwner(options: CommandInput['options']): { readonly lane?: string; readonly owner?: string } {
  const given = (['lane', 'owner'] as const).filter((option) => options[option] !== undefined);
  const empty = given.find((option) => options[option] === '');
  if (empty === undefined) return Object.fromEntries(given.map((option) => [option, String(options[option])]));
  throw new PithError('usage', `--${empty} is empty`, { cure: `give ${empty === 'lane' ? 'a lane' : 'an owner'}, or leave it out` });
}

/** Whose jobs somebody sees: everybody's as an administrator, else their own. */
export function ownerSeenBy(
  { settings }: Kernel,
  { userId, asAdmin = isAdmin(settings.admins, userId) }: ActingUser,
): Pick<Filter, 'owner'> {
  return asAdmin ? {} : { owner: userId };
}

/** Rejects `job_unknown` with the nearest ids. */
export async function jobOf(kernel: Kernel, id: string, by: ActingUser): Promise<JobRow> {
  const { store } = kernel.jobs;
  const seen = ownerSeenBy(kernel, by);
  const found = await store.get(id);
  if (found && (seen.owner ?? found.owner) === found.owner) return found;
  const known = (await store.list({ ...seen, limit: 100 })).map((row) => row.id);
  throw new PithError('job_unknown', `no job '${printableLine(id)}'${didYouMean(id, known)}`, { cure: 'see: pith jobs list' });
}

/** The command that tries jobs of this name again in place of `pith jobs retry`, as their manifest says. */
export function retryWith({ host }: Kernel, name: string): string | undefined {
  const { id, manifest } = host.extensions.discovery.declarations.get(name.slice(0, name.indexOf('.'))) ?? {};
  return manifest?.jobs.find((job) => `${id}.${job.name}` === name)?.retry_with;
}

/** The names of jobs that a person means by a name or by the id of an extension, also of those that are paused. Rejects `job_unknown`. */
export async function namesOf(kernel: Kernel, name: string): Promise<readonly string[]> {
  const { store } = kernel.jobs;
  const known = declaredNames(kernel);
  const meant = known.filter((each) => each === name || each.startsWith(`${name}.`));
  if (meant.length > 0) return meant;
  const isPaused = (await store.holds()).some(({ kind, value }) => kind === 'name' && value === name);
  if (isPaused || (await store.count({ names: [name] })) > 0) return [name];
  throw unknownName(name, known);
}

/** As `namesOf`, also for what extensions left that are gone. */
async function named(kernel: Kernel, name: string): Promise<Filter> {
  const { store } = kernel.jobs;
  const known = declaredNames(kernel);
  if (known.includes(name) || (await store.count({ names: [name] })) > 0) return { names: [name] };
  const prefix = `${name}.`;
  if (known.some((each) => each.startsWith(prefix)) || (await store.count({ prefix })) > 0) return { prefix };
  throw unknownName(name, known);
}

function declaredNames({ host }: Kernel): readonly string[] {
  const declared = [...host.extensions.discovery.declarations.values()];
  return declared.flatMap(({ id, manifest }) => (manifest?.jobs ?? []).map(({ name }) => `${id}.${name}`));
}

function unknownName(name: string, known: readonly string[]): PithError {
  const candidates = [...known, ...known.map((each) => each.slice(0, each.indexOf('.')))];
  return new PithError(
    'job_unknown',
    `no jobs '${printableLine(name)}': no extension declares them${didYouMean(name, new Set(candidates))}`,
    {
      cure: known.length === 0 ? 'no extension has jobs' : `use one of ${known.join(', ')}`,
    },
  );
}

function stateOf(value: unknown): State {
  const state = STATES.find((each) => each === value);
  if (state) return state;
  throw new PithError('usage', `--state '${printableLine(String(value))}': there is no such state${didYouMean(String(value), STATES)}`, {
    cure: `use one of ${STATES.join(', ')}`,
  });
}
