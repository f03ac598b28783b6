/**
 * Works on jobs until it is killed. Each effect is one guarded row, so that whoever lost a job leaves none. Prints `aborted <code>`,
 * `refused <code>` and `began <id>`.
 */
import { systemClock as clock } from '@pith/promises';
import { codeOf } from '../../../../core/contract/index.ts';
import { createJobStore, type JobCall, JobService } from '../../../../core/durable/index.ts';
import { openStore } from '../../../../core/store/index.ts';
import { declared, newJob } from './new-job.ts';

const [file = ''] = process.argv.slice(2);
const database = openStore(file, clock);
const store = createJobStore(database, clock);
const say = (text: string): void => void process.stdout.write(`${text}\n`);
const quiet = () => undefined;
const jobs = new Map(['a.plain', 'a.parent', 'a.again', 'a.slow'].map((name) => [name, declared(name)]));

const handlers: Readonly<Record<string, (job: JobCall, signal: AbortSignal) => Promise<object>>> = {
  'a.plain': work,
  async 'a.again'(job) {
    return job.fence < 2 ? { kind: 'again', at: clock.now() + 20 } : work(job);
  },
  async 'a.parent'(job) {
    if (job.resumed) return work(job);
    const { id } = await store.insert(newJob('a.plain', { payload: '"part"', parent: job.id, unique: job.id }), null);
    return { kind: 'wait', wait: { jobs: [id] } };
  },
  /** Does not listen to its signal. */
  async 'a.slow'(job, signal) {
    say(`began ${job.id}`);
    signal.addEventListener('abort', () => say(`aborted ${codeOf(signal.reason, '')}`));
    await clock.sleep(1_500);
    return work(job).catch((error: unknown) => {
      say(`refused ${codeOf(error, '')}`);
      throw error;
    });
  },
};

async function work({ id, fence }: JobCall): Promise<object> {
  await clock.sleep(Math.random() * 30);
  await database.write((statement) => {
    store.within(statement).guard({ id, fence });
    statement('INSERT INTO effects (job, fence) VALUES (?, ?)', id, fence);
  });
  return { kind: 'done', result: 'true' };
}

void clock.sleep(3_600_000); // the loop alone keeps no process alive
new JobService({
  store,
  clock,
  logger: { debug: quiet, info: quiet, warn: quiet, error: quiet },
  declared: () => jobs,
  callable: () => new Set(jobs.keys()),
  policies: () => new Map(),
  load: async () => undefined,
  call: async (name, job, signal) => (await handlers[name]?.(job, signal)) as never,
  notify: async () => undefined,
}).start();
