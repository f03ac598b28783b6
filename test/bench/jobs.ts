import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '@pith/promises';
import { ulid } from 'ulid';
import { createJobStore, type JobDeclaration, JobService, PLAIN_JOB } from '../../core/durable/index.ts';
import { openDatabase, openStore } from '../../core/store/index.ts';
import { packedPith } from './child.ts';
import { cpuTimed, interleaved, scaled, spreadOf, timed, type Bench, type Row } from './measure.ts';
import { inFolder, put } from './places.ts';

const SMALL: JobDeclaration = {
  name: 'bench.small',
  concurrency: 64,
  version: 1,
  lanes: false,
  keep: true,
  attempts: 8,
  backoff: { first_ms: 1_000, most_ms: 300_000 },
};
const PAYLOAD = JSON.stringify({ report: 'of the week', for: 'ada' });
const WRITERS = 64;

/** Jobs over SQLite: how soon one begins, how many a second beside bare rows, a claim among many that wait, and what it costs to have none. */
export const jobs: Bench = async ({ runs, quick }) =>
  inFolder(async (folder) => {
    const awake = setInterval(() => undefined, 1000); // jobs alone keep no process
    const rows = [
      ...(await begun(folder, quick ? 20 : 60)),
      await smallJobs(folder, runs, quick ? 500 : 4000),
      await claims(folder, quick ? 10_000 : 100_000),
      await idleLoop(folder, quick ? 2 : 5, quick ? 2 : 10),
      ...(await idle(folder, quick ? 2 : 5, quick ? 3 : 10)),
    ];
    clearInterval(awake);
    return rows;
  });

const newJob = () => ({ ...PLAIN_JOB, id: ulid(), name: SMALL.name, payload: PAYLOAD, mostAttempts: SMALL.attempts });

/** A process's store and service over a file. `run` is called with each job that begins. */
function processOver(file: string, run: (id: string) => void = () => undefined) {
  const database = openStore(file, systemClock);
  const store = createJobStore(database, systemClock);
  const quiet = () => undefined;
  const service = new JobService({
    store,
    clock: systemClock,
    logger: { debug: quiet, info: quiet, warn: quiet, error: quiet },
    declared: () => new Map([[SMALL.name, SMALL]]),
    callable: () => new Set([SMALL.name]),
    policies: () => new Map(),
    load: async () => undefined,
    async call(_name, { id }) {
      run(id);
      return { kind: 'done', result: 'null' };
    },
    notify: async () => undefined,
  });
  return {
    store,
    service,
    async add() {
      const { id } = await store.insert(newJob(), null);
      service.wake();
      return id;
    },
    async close() {
      await service.stop();
      await database.close();
    },
  };
}

async function begun(folder: string, count: number): Promise<readonly Row[]> {
  const times = async (file: string, isOther: boolean): Promise<number[]> => {
    const waiting = new Map<string, () => void>();
    const early = new Set<string>();
    const worker = processOver(file, (id) => (waiting.has(id) ? waiting.get(id)?.() : early.add(id)));
    const adder = isOther ? processOver(file) : worker;
    worker.service.start();
    const found: number[] = [];
    for (let round = 0; round < count; round += 1) {
      await sleep(Math.random() * 250); // looks at other processes come every 250 ms
      const from = performance.now();
      const id = await adder.add();
      await new Promise<void>((resolve) => (early.has(id) ? resolve() : waiting.set(id, resolve)));
      found.push(performance.now() - from);
    }
    await worker.close();
    if (isOther) await adder.close();
    return found;
  };
  const one = await times(path.join(folder, 'one.db'), false);
  const two = await times(path.join(folder, 'two.db'), true);
  const row = { unit: 'ms', floor: null } as const;
  return [
    { ...row, figure: 'job, from add to begun, in one process', measured: spreadOf(one), must: 5 },
    { ...row, figure: 'job, from add to begun, in another process', measured: spreadOf(two), must: 260 },
  ];
}

async function smallJobs(folder: string, runs: number, count: number): Promise<Row> {
  let left = 0;
  let ended: () => void = () => undefined;
  const { service, store, close } = processOver(path.join(folder, 'small.db'), () => (left -= 1) === 0 && ended());
  service.start();
  const all = () => {
    left = count;
    return new Promise<void>((resolve) => {
      ended = resolve;
      const add = async (writer: number) => {
        for (let number = writer; number < count; number += WRITERS) {
          await store.insert(newJob(), null);
          service.wake();
        }
      };
      void Promise.all(Array.from({ length: WRITERS }, (_, writer) => add(writer)));
    });
  };
  const plain = openDatabase(path.join(folder, 'plain.db'));
  plain.exec(
    'CREATE TABLE jobs (number INTEGER PRIMARY KEY, id TEXT UNIQUE, name TEXT, payload TEXT, state TEXT, holder TEXT, at INTEGER)',
  );
  /** The same three commits of as many rows. */
  const rows = () => {
    for (let number = 0; number < count; number += WRITERS) {
      const ids = Array.from({ length: Math.min(WRITERS, count - number) }, () => ulid());
      const commit = (change: (id: string) => void) => {
        plain.exec('BEGIN IMMEDIATE');
        for (const id of ids) change(id);
        plain.exec('COMMIT');
      };
      commit((id) =>
        plain.run('INSERT INTO jobs VALUES (NULL, ?, ?, ?, ?, NULL, ?)', id, SMALL.name, PAYLOAD, 'waiting', systemClock.now()),
      );
      commit((id) => plain.run("UPDATE jobs SET state = 'running', holder = 'me', at = ? WHERE id = ?", systemClock.now(), id));
      commit((id) => plain.run("UPDATE jobs SET state = 'done', holder = NULL, at = ? WHERE id = ?", systemClock.now(), id));
    }
  };
  await all(); // warm
  const found = await interleaved(runs, { floor: () => timed(rows), measured: () => timed(all) });
  await close();
  plain.close();
  const measured = scaled(found.measured, 1000 / count);
  return {
    figure: 'small job, added and done',
    note: `${Math.round(1e6 / measured.median).toLocaleString('en')} a second`,
    unit: 'µs',
    measured,
    floor: scaled(found.floor, 1000 / count),
    boundsAt: 50,
    must: 500,
  };
}

async function claims(folder: string, waiting: number): Promise<Row> {
  const { store, close } = processOver(path.join(folder, 'many.db'));
  const add = async (writer: number) => {
    for (let number = writer; number < waiting; number += WRITERS * 10) await store.insert(newJob(), null);
  };
  await Promise.all(Array.from({ length: WRITERS * 10 }, (_, writer) => add(writer)));
  const claim = { holder: 'me', jobs: new Map([[SMALL.name, SMALL]]), policies: new Map(), only: null, most: 16 };
  const times: number[] = [];
  for (let round = 0; round < 30; round += 1) {
    const from = performance.now();
    const { taken } = await store.claim(claim);
    times.push(performance.now() - from);
    if (taken.length !== claim.most) throw new Error(`a claim took ${taken.length} jobs`);
    for (const { id, fence } of taken) await store.settle({ id, fence }, { kind: 'done', result: 'null' }, true);
  }
  await close();
  return {
    figure: `claim of 16 jobs where ${waiting.toLocaleString('en')} wait`,
    unit: 'ms',
    measured: spreadOf(times),
    floor: null,
    must: 5,
  };
}

async function idleLoop(folder: string, runs: number, seconds: number): Promise<Row> {
  const { service, close } = processOver(path.join(folder, 'idle.db'));
  const share = async () => (await cpuTimed(() => sleep(seconds * 1000))) / (seconds * 10);
  const floor: number[] = [];
  for (let run = 0; run < runs; run += 1) floor.push(await share());
  service.start();
  await sleep(1000);
  const measured: number[] = [];
  for (let run = 0; run < runs; run += 1) measured.push(await share());
  await close();
  return { figure: 'idle CPU of the loop of jobs', unit: '%', measured: spreadOf(measured), floor: spreadOf(floor), must: 0.2 };
}

/** Until what a start leaves to be done is done: V8 collects its garbage in three steps some 50 s after it. */
const START_MS = 75_000;

async function idle(folder: string, runs: number, seconds: number): Promise<readonly Row[]> {
  if (!existsSync('/proc/self/schedstat')) return [];
  const pith = await packedPith(folder);
  const sandbox = path.join(folder, 'sandbox');
  await put(path.join(sandbox, 'pith.yaml'), '');
  const shares = async (words: readonly string[]): Promise<number[]> => {
    const child = spawn(process.execPath, [...words], {
      stdio: ['pipe', 'ignore', 'inherit'],
      env: { PATH: process.env['PATH'], HOME: folder, PITH_TRUST: '1', PITH_SANDBOX: sandbox, PITH_MODEL: 'offline/librarian' },
    });
    await sleep(START_MS);
    const found: number[] = [];
    for (let run = 0; run < runs; run += 1) {
      const before = cpuOfFamily(child.pid as number);
      await sleep(seconds * 1000);
      found.push((cpuOfFamily(child.pid as number) - before) / (seconds * 10));
    }
    child.kill();
    await new Promise((resolve) => child.once('exit', resolve));
    return found;
  };
  const [chat, serve] = await Promise.all([shares([pith, 'chat', '--lines']), shares([pith, 'serve', '--port', '0'])]);
  const row = { unit: '%', floor: null } as const;
  return [
    { ...row, figure: 'idle CPU of a chat', measured: spreadOf(chat), must: 0.2 },
    { ...row, figure: 'idle CPU of pith serve and its kernel', measured: spreadOf(serve), must: 0.3 },
  ];
}

/** Milliseconds of CPU that the threads of a process and of its children have had. */
function cpuOfFamily(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`);
  const own = threads.map((thread) => Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'latin1').split(' ')[0]) / 1e6);
  const children = threads.flatMap((thread) => readFileSync(`/proc/${pid}/task/${thread}/children`, 'latin1').split(' ').filter(Boolean));
  return [...own, ...children.map((child) => cpuOfFamily(Number(child)))].reduce((sum, value) => sum + value, 0);
}
