import { ulid } from 'ulid';
import { type Clock, type JobInfo, type Logger, messageOf, PithError } from '../../contract/index.ts';
import { type JobHandlers, runOutside } from '../../kernel/index.ts';
import { createOwner } from '../../store/index.ts';
import { Attempts } from './attempts.ts';
import type { Claim, JobDeclaration, JobStore } from './port.ts';
import type { KernelJobs } from './kernel-jobs.ts';
import { extensionOf, type JobRow, NEVER } from './row.ts';
import { ENDED_SUFFIX } from './store.ts';
import { ticksDue } from './timetables.ts';
import { DEFAULT_BACKOFF, LONGEST_LIMIT_MS } from './transitions.ts';
import { Watching } from './watching.ts';

export interface JobServiceOptions extends Pick<JobHandlers, 'callable' | 'policies' | 'load' | 'call' | 'notify'> {
  readonly store: JobStore;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The jobs of all enabled extensions by full name, and the kernel's own. */
  declared(): ReadonlyMap<string, JobDeclaration>;
  readonly kernel?: Pick<KernelJobs, 'changed' | 'repair' | 'tidy'>;
}

/** How soon changes of other processes are seen. */
const LOOK_MS = 250;
/** The wait after a look that failed. */
const PAUSE_MS = 1_000;
/** The wait before code is loaded again that brought no policy. */
const LOAD_AGAIN_MS = 5_000;
/** A clock that goes back by more was ahead before. */
const SET_BACK_MS = 1_000;
const TIDY_MS = 3_600_000;
const FIRST_TIDY_MS = 60_000;
const MOST_AT_ONCE = 64;
/** How many are told of ended jobs at once. */
const TELLING = { concurrency: 16, lanes: false, keep: false, attempts: 8, backoff: DEFAULT_BACKOFF };

/** A job that somebody waits for, and what is served until it begins. */
type Served = Readonly<Record<keyof NonNullable<Claim['only']>, Set<string>>>;

/** Works on jobs in this process: one loop for all. Idle it asks for the store's revision, and nothing else. */
export class JobService {
  readonly store: JobStore;
  readonly #holder = createOwner();
  readonly #attempts: Attempts;
  readonly #watching: Watching;
  /** What is served for those who wait, while not everything is. */
  readonly #served = new Set<Served>();
  readonly #loading = new Set<string>();
  #state: 'new' | 'started' | 'stopping' | 'stopped' = 'new';
  /** Something has changed in this process. */
  #isWoken = false;
  /** A slot is free. */
  #isFree = false;
  #revision = -1;
  /** When there may be jobs or ticks to start. */
  #claimAt = Infinity;
  #tickAt = Infinity;
  #tidiedAt = 0;
  /** Infinity: an earlier process may have had a later clock. */
  #lookedAt = Infinity;
  #looking: Promise<void> | null = null;
  #again = false;
  #cancel: (() => void) | undefined;

  constructor(private readonly options: JobServiceOptions) {
    const { store, clock, logger } = options;
    this.store = store;
    const ended = () => {
      this.#isFree = true;
      this.#look();
    };
    this.#attempts = new Attempts({ store, clock, logger, handlers: options, ended });
    this.#watching = new Watching(
      store,
      () => options.declared(),
      () => this.#look(),
    );
  }

  /** Serves every job that can be called here, and the timetables. */
  start(): void {
    if (this.#state !== 'new') return;
    this.#state = 'started';
    this.#tidiedAt = this.options.clock.now() - TIDY_MS + FIRST_TIDY_MS;
    this.wake();
  }

  /** Aborts what runs, gives back what settles within the grace, and leaves the rest to expire. It does not start again. */
  async stop(): Promise<void> {
    if (this.#state === 'stopping' || this.#state === 'stopped') return;
    this.#state = 'stopping';
    this.#attempts.abort();
    this.#watching.close();
    await this.#looking; // it may be about to start some
    this.#look(); // renews what ends within the grace
    await this.#attempts.stop();
    this.#state = 'stopped';
    await this.#looking;
  }

  /** Jobs or timetables were added, resumed, cancelled or released in this process, or handlers came or went. */
  wake(): void {
    this.#isWoken = true;
    this.#look();
  }

  /** The job as others see it, with its notes and why it waits. */
  info(row: JobRow): Promise<JobInfo> {
    return this.#watching.info(row);
  }

  /** The job's states and notes as they change in any process, until it has ended. */
  watch(id: string, signal?: AbortSignal): AsyncIterable<JobInfo> {
    return this.#watching.watch(id, signal);
  }

  /** The job once it has ended. While nothing is served here, its lane or name is until it begins, and what is inside it. Rejects `job_unknown`. */
  async finished(id: string, signal?: AbortSignal): Promise<JobInfo> {
    const job = await this.store.get(id);
    if (job === null) throw unknown(id);
    const { name, lane } = job;
    const only = { names: new Set([`${name}${ENDED_SUFFIX}`]), lanes: new Set<string>(), jobs: new Set([id]) };
    const [way, value] = lane === null || !this.options.declared().get(name)?.lanes ? [only.names, name] : [only.lanes, lane];
    const over = new AbortController();
    this.#served.add(only);
    try {
      for await (const info of this.watch(id, signal)) {
        if (info.times.ended !== null) return info;
        if (info.state === 'running') noMore(only, job);
        else way.add(value);
        this.wake();
        if (info.state === 'suspended') await this.#serveAwaited(id, over.signal);
      }
    } finally {
      over.abort();
      this.#served.delete(only);
    }
    throw unknown(id);
  }

  /** Whoever serves a job serves those that it waits for. */
  async #serveAwaited(id: string, signal: AbortSignal): Promise<void> {
    const ids = (await this.store.get(id))?.wait?.jobs ?? [];
    const isServed = (each: string) => [...this.#served].some(({ jobs }) => jobs.has(each));
    for (const each of ids) if (!isServed(each)) void this.finished(each, signal).catch(() => undefined); // the wait ends with it, or goes on
  }

  get #isServing(): boolean {
    return this.#state === 'started' || (this.#state === 'new' && this.#served.size > 0);
  }

  /** Otherwise there is nothing to look for. */
  get #isActive(): boolean {
    return this.#state !== 'stopped' && (this.#isServing || this.#attempts.size > 0 || this.#watching.size > 0);
  }

  /** Looks at once; while it looks, it does once more afterwards. */
  #look(): void {
    this.#cancel?.();
    if (!this.#isActive) return;
    this.#again = this.#looking !== null;
    this.#looking ??= runOutside(() => this.#looks()); // whoever woke it has no part in what follows
  }

  async #looks(): Promise<void> {
    let pause: number | null = null;
    do {
      this.#again = false;
      try {
        await this.#lookOnce();
      } catch (error) {
        this.#attempts.storageFailed(error);
        this.#isWoken = true;
        pause = PAUSE_MS;
      }
    } while (this.#again && pause === null);
    this.#looking = null;
    this.#plan(pause);
  }

  #plan(pause: number | null): void {
    const { clock } = this.options;
    if (!this.#isActive) return;
    const now = clock.now();
    const due = Math.min(this.#claimAt, this.#tickAt, this.#attempts.renewAt);
    const wait = pause ?? Math.max(1, Math.min(LOOK_MS, due - now));
    this.#cancel = clock.after(wait, () => this.#look());
  }

  async #lookOnce(): Promise<void> {
    const { store, clock } = this.options;
    const now = clock.now();
    const isSetBack = now < this.#lookedAt - SET_BACK_MS;
    const wasWoken = this.#isWoken;
    const isFree = this.#isFree;
    this.#isWoken = this.#isFree = false;
    await this.#attempts.renew(now);
    if (this.#isServing && isSetBack) await this.#repairClock(this.#lookedAt === Infinity);
    const revision = await store.revision();
    const isOthers = revision !== this.#revision;
    if (isOthers) this.options.kernel?.changed();
    const isNews = wasWoken || isSetBack || isOthers;
    if (isNews) await this.#attempts.look();
    const hasTicks = this.#state === 'started' && (isNews || now >= this.#tickAt) && (await this.#tick({ now, isSetBack }));
    if (this.#isServing && (isNews || isFree || hasTicks || now >= this.#claimAt)) await this.#claim();
    this.#revision = revision;
    if (this.#isServing) this.#lookedAt = now;
    await this.#watching.look();
    if (this.#state === 'started' && Math.abs(now - this.#tidiedAt) >= TIDY_MS && !(await store.tidy())) {
      this.#tidiedAt = now;
      await this.options.kernel?.tidy();
      this.#isWoken = true;
    }
  }

  /** At the first look nobody knows whether the clock was set back: what a provider asked for is kept. */
  async #repairClock(isFirst: boolean): Promise<void> {
    const longest = [...this.options.declared().values()].map(({ backoff }) => backoff.most_ms);
    await this.store.repairClock(Math.max(isFirst ? LONGEST_LIMIT_MS : DEFAULT_BACKOFF.most_ms, ...longest));
    await this.options.kernel?.repair();
  }

  /** Whether a job was made of a timetable. */
  async #tick(at: { readonly now: number; readonly isSetBack: boolean }): Promise<boolean> {
    const { store, logger } = this.options;
    const jobs = this.options.declared();
    const rows = (await store.schedules()).filter(({ job }) => jobs.has(job.name));
    const { ticks, next, broken } = ticksDue(rows, at, () => ulid(at.now));
    for (const tick of ticks) await store.tick(tick);
    for (const { schedule, why } of broken) logger.warn(`timetable ${schedule}: it has ended; ${why}`);
    this.#tickAt = next;
    return ticks.length > 0;
  }

  async #claim(): Promise<void> {
    const { store } = this;
    const jobs = this.#jobs();
    const only = this.#state === 'started' ? null : unionOf(this.#served);
    const claim = { holder: this.#holder, jobs, policies: this.options.policies(), only, most: MOST_AT_ONCE };
    const { due, next } = await store.isDue(claim);
    this.#claimAt = next ?? Infinity;
    if (!due) return;
    const claimed = await store.claim(claim);
    this.#claimAt = claimed.next ?? Infinity;
    for (const row of claimed.taken) {
      for (const served of this.#served) if (served.jobs.has(row.id)) noMore(served, row);
      this.#attempts.start(row, jobs.get(row.name) as JobDeclaration);
    }
    if (claimed.taken.length > 0) this.#attempts.storageWorked();
    if (claimed.taken.length >= MOST_AT_ONCE) this.#isFree = this.#again = true;
    for (const name of claimed.unloaded) void this.#load(name);
  }

  /** What can be called here, and who is told of ends, also of jobs that an extension declares no more. */
  #jobs(): Claim['jobs'] {
    const [declared, callable] = [this.options.declared(), this.options.callable()];
    const extensions = new Set([...callable].map(extensionOf));
    const get = (name: string): JobDeclaration | undefined => {
      if (!name.endsWith(ENDED_SUFFIX)) return callable.has(name) ? declared.get(name) : undefined;
      const ended = name.slice(0, -ENDED_SUFFIX.length);
      const job = declared.get(ended);
      const hasListener = job === undefined ? extensions.has(extensionOf(ended)) : callable.has(ended);
      return hasListener ? { ...TELLING, name, version: job?.version ?? NEVER } : undefined;
    };
    return { get, has: (name) => get(name) !== undefined };
  }

  /** Code that cannot be loaded, or brings no policy, is not asked for at each claim. */
  async #load(name: string): Promise<void> {
    const { load, policies, clock, logger } = this.options;
    if (this.#loading.has(name)) return;
    this.#loading.add(name);
    try {
      await load(name);
    } catch (error) {
      logger.warn(`jobs ${name} wait: their extension could not be loaded`, { error: messageOf(error) });
    }
    const over = () => {
      this.#loading.delete(name);
      this.wake();
    };
    if (policies().has(name)) over();
    else clock.after(LOAD_AGAIN_MS, over);
  }
}

/** What begins beside a job that somebody waits for would be cut at its end. */
function noMore({ names, lanes }: Served, { name, lane }: JobRow): void {
  names.delete(name);
  if (lane !== null) lanes.delete(lane);
}

function unionOf(served: ReadonlySet<Served>): NonNullable<Claim['only']> {
  return {
    names: new Set([...served].flatMap(({ names }) => [...names])),
    lanes: new Set([...served].flatMap(({ lanes }) => [...lanes])),
    jobs: new Set([...served].flatMap(({ jobs }) => [...jobs])),
  };
}

function unknown(id: string): PithError {
  return new PithError('job_unknown', `job ${id}: there is none`, { cure: 'see: pith jobs list' });
}
