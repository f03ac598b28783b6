import type { CommandInput, CommandIO, JsonValue } from '../../contract/index.ts';
import { countOption } from '@pith/command-line';
import { printableLine } from '@pith/plain-text';
import type { Kernel } from '../../compose/index.ts';
import { hasEnded, infoOf, type JobRow, NEVER, STATES } from '../../durable/index.ts';
import { filterOf, jobOf, ownerSeenBy, retryWith } from './job-names.ts';
import { colours, paintState, printFields, printTable, timeOf } from './text.ts';

const MOST_CHILDREN = 100;

export async function listJobs(kernel: Kernel, input: CommandInput, io: CommandIO): Promise<void> {
  const filter = await filterOf(kernel, input);
  const { after } = input.options;
  const without = [input.options['without'] ?? []].flat().map((id) => `${String(id)}.`);
  const states = input.options['open'] === true ? { states: (filter.states ?? STATES).filter((state) => !hasEnded({ state })) } : {};
  const before = after === undefined ? {} : { before: (await jobOf(kernel, String(after), io)).number };
  const rows = await kernel.jobs.store.list({
    ...filter,
    ...ownerSeenBy(kernel, io),
    ...before,
    ...states,
    without,
    limit: countOption(input, 'limit'),
  });
  if (filter.states?.includes('dead') === true && !io.wantsJson) await sawDead(kernel, rows);
  io.json(rows.map(jobJson));
  printTable(
    io,
    rows,
    [
      { title: 'ID', value: ({ id }) => id },
      { title: 'STATE', value: ({ state }) => state, paint: (text, { state }) => paintState(io, state, text) },
      { title: 'JOB', value: ({ name }) => name },
      { title: 'FOR', value: ({ owner }) => printableLine(owner ?? '') },
      { title: 'WHEN', value: whenOf },
      { title: 'ABOUT', value: ({ error, payload }) => printableLine(error?.message ?? (payload === 'null' ? '' : payload), 200) },
    ],
    Object.keys(filter).length === 0 ? 'There are no jobs' : 'There are no such jobs',
  );
}

/** For programs that show jobs: in pieces, until the number stays. */
export async function changedJobs({ jobs: { store } }: Kernel, { options }: CommandInput, io: CommandIO): Promise<void> {
  const since = options['since'] === undefined ? Number.MAX_SAFE_INTEGER : Number(options['since']);
  const { number, ids } = await store.changesSince(since);
  const rows = ids.length === 0 ? [] : await store.list({ ids, limit: ids.length });
  const owners = [...new Set(rows.map(({ owner }) => owner))];
  io.json({ number, owners });
  io.print(`${number}: ${owners.map((owner) => owner ?? 'Pith').join(', ')}`);
}

export async function showJob(kernel: Kernel, input: CommandInput, io: CommandIO): Promise<void> {
  const { store } = kernel.jobs;
  const row = await jobOf(kernel, String(input.arguments['id']), io);
  const info = await kernel.jobs.info(row);
  const children = await store.list({ parent: row.id, limit: MOST_CHILDREN });
  if (!io.wantsJson) await sawDead(kernel, [row]);
  io.json({ ...jobJson(row), ...info, children: children.map(({ id }) => id) });
  const { id, state, lane, begun, attemptBegun, ended, attempts, mostAttempts, lost, error } = row;
  printFields(io, [
    ['Job', id],
    ['State', `${state}, ${whenOf(row)}`, (text) => paintState(io, state, text)],
    ['Name', row.name],
    ['For', row.owner ?? undefined],
    ['Lane', lane === null ? undefined : `${lane}, priority ${row.priority}`],
    ['Sequence', row.sequence ?? undefined],
    ['Unique', row.unique ?? undefined],
    ['Parent', row.parent ?? undefined],
    ['Made', timeOf(row.made)],
    ['Waits', info.whyWaiting ?? undefined],
    ['Begun', begun === null ? (ended === null ? undefined : 'never') : timeOf(begun)],
    ['Attempt', state === 'running' && attempts > 0 ? `${attempts + 1}, since ${timeOf(attemptBegun ?? row.at)}` : undefined],
    ['Ended', ended === null ? undefined : timeOf(ended)],
    ['Failures', attempts === 0 ? undefined : `${attempts} of at most ${mostAttempts}`],
    ['Losses', lost === 0 ? undefined : `its process died ${lost === 1 ? 'once' : `${lost} times`}`],
    ['Error', error === null ? undefined : `${error.code}: ${error.message}`],
    ['Payload', row.payload],
    ['Result', row.result ?? undefined],
    ['Jobs', children.map((child) => `${child.id} ${child.name} (${child.state})`).join('\n')],
    ['Notes', info.notes.map(({ at, data }) => `${timeOf(at)} ${printableLine(JSON.stringify(data))}`).join('\n')],
  ]);
  if (state === 'dead' || state === 'failed')
    io.print(colours(io).dim(`Try it again now: pith ${retryWith(kernel, row.name) ?? `jobs retry ${id}`}`));
}

/** A person did, so doctor says no more of them; a program that reads JSON tells nobody. */
async function sawDead({ jobs: { store } }: Kernel, rows: readonly JobRow[]): Promise<void> {
  const dead = rows.filter(({ state, seen }) => state === 'dead' && !seen);
  if (dead.length > 0) await store.markSeen(dead.map(({ id }) => id));
}

function whenOf({ state, at, attemptBegun, ended, wait }: JobRow): string {
  if (ended !== null) return timeOf(ended);
  if (state === 'scheduled' || state === 'failed') return `at ${timeOf(at)}`;
  if (state === 'suspended' && at === NEVER) return wait?.jobs ? `until ${wait.jobs.join(', ')} ended` : 'until it is resumed';
  if (state === 'suspended') return `until ${timeOf(at)}`;
  return `since ${timeOf(state === 'running' ? (attemptBegun ?? at) : at)}`;
}

function jobJson(row: JobRow): { readonly [key: string]: JsonValue } {
  const { notes: _, ...info } = infoOf(row);
  const { unique, sequence, priority, fence, mostAttempts, lost, wait } = row;
  const more = { unique, sequence, priority, fence, mostAttempts, lost, open: !hasEnded(row) };
  return { ...info, ...more, wait: wait && { ...wait } };
}
