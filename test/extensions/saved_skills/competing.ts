/** Real processes that take runs of one store at once; the quick and the long forms of the tests share these rounds. */
import path from 'node:path';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, onTestFinished } from 'vitest';
import { bundleProgram, exitOf } from '../../core/store/child-process.ts';
import { folderWith } from '../../places.ts';
import type { Plan } from './lane-program.ts';
import { changesIn, idOf, newRun, openRuns, record, wrongIn } from './shared-store.ts';

const PROGRAM = '../../extensions/saved_skills/lane-program';
const USERS = ['A', 'B', 'C', 'D', 'E'];
const LANES = ['one', 'two'];
/** Few runs are sometimes all taken by one process before the system lets the other go on. */
const MANY = 1000;

/** Runs a program for each plan until all of them have ended. They begin to work together. */
async function compete(folder: string, plans: readonly Plan[]): Promise<void> {
  const program = await bundleProgram(PROGRAM, folder);
  const children = plans.map((plan) => {
    const child = spawn(process.execPath, [program, JSON.stringify(plan)], { stdio: ['pipe', 'pipe', 'inherit'] });
    onTestFinished(() => void child.kill('SIGKILL'));
    return child;
  });
  const ended = children.map(exitOf);
  await Promise.all(children.map(({ stdout }) => once(stdout, 'data')));
  for (const { stdin } of children) stdin.end('go\n');
  expect(await Promise.all(ended)).toEqual(plans.map(() => 0));
}

async function recorded(): Promise<{
  readonly folder: string;
  readonly file: string;
  readonly opened: Awaited<ReturnType<typeof openRuns>>;
}> {
  const folder = folderWith();
  const file = path.join(folder, 'pith.db');
  const opened = await openRuns(file);
  record(file);
  return { folder, file, opened };
}

/** So many runs of five users wait in two lanes of one slot each; two processes take them. Returns the order of claims by lane, as `A1`. */
export async function orderOfClaims(count: number): Promise<ReadonlyMap<string, readonly string[]>> {
  const { folder, file, opened } = await recorded();
  const names = new Map<string, string>();
  const queued = Array.from({ length: count }, (_, number) => {
    const lane = LANES[Math.floor((number * LANES.length) / count)] as string;
    const inLane = number % (count / LANES.length);
    const each = count / LANES.length / USERS.length;
    // Of one user after the other: their turns come from the lane and not from the order of arrival.
    const user = USERS[Math.floor(inLane / each)] as string;
    names.set(idOf(number), `${user}${(inLane % each) + 1}`);
    return newRun(number, { lane, user_id: user });
  });
  await Promise.all(queued.map((run) => opened.runs.arrive(run, { slots: 1, preemptionMs: 30_000 })));
  await opened.close();
  await compete(
    folder,
    [0, 1].map(() => ({ file, lanes: LANES, slots: 1, arrivals: [] })),
  );
  const changes = changesIn(file);
  expect(wrongIn(changes, [...names.keys()])).toEqual([]);
  expect(Math.max(...changes.map(({ running }) => running))).toBe(1);
  const claims = changes.filter(({ to }) => to === 'running');
  if (count >= MANY) expect(new Set(claims.map(({ holder }) => holder)).size).toBe(2);
  return new Map(LANES.map((lane) => [lane, claims.filter((each) => each.lane === lane).map(({ id }) => names.get(id) as string)]));
}

/** `A1 B1 … E1 A2 …` */
export function roundRobin(count: number): readonly string[] {
  return Array.from(
    { length: count / LANES.length },
    (_, index) => `${USERS[index % USERS.length]}${Math.floor(index / USERS.length) + 1}`,
  );
}

/** So many runs arrive by two processes in two lanes, each run more urgent than those before. Returns what happened. */
export async function moreUrgent(
  count: number,
  slots: number,
): Promise<{ readonly most: number; readonly ok: number; readonly preempted: number }> {
  const { folder, file, opened } = await recorded();
  await opened.close();
  const numbers = Array.from({ length: count }, (_, number) => number);
  const plans = [0, 1].map((mine) => ({
    file,
    lanes: LANES,
    slots,
    arrivals: numbers.filter((number) => Math.floor(number / 2) % 2 === mine),
  }));
  await compete(folder, plans);
  const changes = changesIn(file);
  expect(wrongIn(changes, numbers.map(idOf))).toEqual([]);
  const ended = (state: string) => changes.filter(({ to }) => to === state).length;
  return { most: Math.max(...changes.map(({ running }) => running)), ok: ended('ok'), preempted: ended('preempted') };
}
