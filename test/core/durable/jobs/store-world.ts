/** One store of jobs, what processes do with it, and a clock that stands still until the test moves it. */
import {
  type Claim,
  createJobStore,
  type JobDeclaration,
  type JobRow,
  type LanePolicy,
  type NewJob,
  type Outcome,
} from '../../../../core/durable/index.ts';
import type { Store } from '../../../../core/store/index.ts';
import { memoryStore, temporaryStore } from '../../store/temporary-store.ts';
import { declared, newJob } from './new-job.ts';

export const STORES: readonly (readonly [string, () => Store])[] = [
  ['in a file', () => temporaryStore()],
  ['in memory', memoryStore],
];

export const START = 1_700_000_000_000;

export const DONE: Outcome = { kind: 'done', result: 'null' };

export type StoreWorld = ReturnType<typeof storeWorld>;

/** Jobs are of name `x.a` where a test does not say otherwise. */
export function storeWorld(database: Store, declarations: readonly JobDeclaration[] = [declared('x.a')]) {
  const clock = { at: START, now: () => clock.at };
  let made = 0;
  const store = createJobStore(database, clock, () => `made ${(made += 1)}`);
  const jobs = new Map(declarations.map((job) => [job.name, job]));
  const row = async (id: string): Promise<JobRow> => {
    const found = await store.get(id);
    if (found === null) throw new Error(`no job ${id}`);
    return found;
  };

  function claimOf(holder: string, changes: Partial<Claim> = {}): Claim {
    return { holder, jobs, policies: new Map(), only: null, most: 100, ...changes };
  }

  const add = (id: string, changes: Partial<NewJob> = {}, policy: LanePolicy | null = null) =>
    store.insert(newJob(changes.name ?? 'x.a', { id, ...changes }), policy);

  return {
    clock,
    store,
    row,
    claimOf,
    pass: (ms: number) => void (clock.at += ms),
    add,
    /** Named by their numbers from 0. */
    addMany: (count: number, changes: (n: number) => Partial<NewJob> = () => ({}), prefix = '', policy: LanePolicy | null = null) =>
      Promise.all(Array.from({ length: count }, (_, n) => add(`${prefix}${n}`, changes(n), policy))),
    /** The ids that a process is given. */
    async claim(holder = 'one', changes: Partial<Claim> = {}): Promise<string[]> {
      const { taken } = await store.claim(claimOf(holder, changes));
      return taken.map(({ id }) => id);
    },
    /** Its present attempt ends. */
    async end(id: string, outcome: Outcome = DONE, keep = true): Promise<boolean> {
      return store.settle({ id, fence: (await row(id)).fence }, outcome, keep);
    },
    failed: (retryInMs = 1_000): Outcome => ({
      kind: 'failed',
      error: { code: 'handler_failed', message: 'no' },
      retryAt: clock.at + retryInMs,
    }),
    async state(id: string): Promise<string> {
      const { state, ready } = await row(id);
      return ready ? 'ready' : state;
    },
    async states(...ids: string[]): Promise<string> {
      const found = await Promise.all(ids.map((id) => store.get(id)));
      return found.map((each) => (each === null ? 'gone' : each.ready ? 'ready' : each.state)).join(' ');
    },
  };
}
