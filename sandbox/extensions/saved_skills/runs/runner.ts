import { KeyedQueue } from '@pith/promises';
import { randomBytes } from 'node:crypto';
import { messageOf } from 'pith';
import { execute, RunStopped, type ExecutionPorts } from './execution.ts';
import type { LaneRules, NewRun } from './run-store.ts';
import { hasEnded, type Run } from './run.ts';

export interface RunnerPorts extends ExecutionPorts {
  readonly laneRules: (lane: string) => LaneRules;
  /** Brings the tables up to date. False where nobody has ever saved a skill: there is nothing to look at. */
  readonly ready: () => Promise<boolean>;
  /** Queues what schedules say. */
  readonly queueDue: () => Promise<void>;
  /** Delivers what is due, which may take as long as others take to answer. */
  readonly deliverDue: () => Promise<void>;
}

const LEASE_MS = 2_000;
/** Between two looks, in which what other processes queued is seen, and between two renewals of leases. */
const POLL_MS = 500;
/** Before anything was saved here. */
const IDLE_MS = 2_000;
/** Between two looks while the database cannot be used. */
const MOST_PAUSE_MS = 30_000;

/** A worker for the lanes of runs for which callers wait, while no services run. */
interface WaitWorker {
  /** The lane of each caller that waits. */
  readonly lanes: string[];
  readonly stop: AbortController;
  readonly ended: Promise<void>;
}

interface Work {
  readonly run: Run;
  readonly gone: AbortController;
  readonly ended: Promise<void>;
}

/** Executes runs while services run. Any number of processes may: each claim is one write with its condition. */
export class Runner {
  readonly #holder = `${process.pid}-${randomBytes(6).toString('hex')}`;
  readonly #work = new Map<string, Work>();
  #stop = new AbortController().signal;
  #isServing = false;
  #waitWorker: WaitWorker | null = null;
  readonly #turns = new KeyedQueue();
  #delivering: Promise<void> | null = null;
  #isDeliveryFailing = false;
  #woken = false;
  #wake = new AbortController();

  constructor(private readonly ports: RunnerPorts) {}

  /** The service. */
  async serve(signal: AbortSignal): Promise<void> {
    this.#isServing = true;
    try {
      await this.#serve(signal);
    } finally {
      this.#isServing = false;
    }
  }

  /** Work that waits for a run of `lane`: a process in which no service runs, such as a chat of one message, serves that lane meanwhile. */
  async serving<T>(lane: string, work: () => Promise<T>): Promise<T> {
    if (this.#isServing) return work();
    const worker = (this.#waitWorker ??= this.#open());
    worker.lanes.push(lane);
    this.wake();
    try {
      return await work();
    } finally {
      worker.lanes.splice(worker.lanes.indexOf(lane), 1);
      if (worker.lanes.length === 0) {
        if (this.#waitWorker === worker) this.#waitWorker = null;
        worker.stop.abort();
        await worker.ended;
      }
    }
  }

  #open(): WaitWorker {
    const stop = new AbortController();
    const lanes: string[] = [];
    return { lanes, stop, ended: this.#serve(stop.signal, lanes) };
  }

  /** Until `signal` aborts; then what runs is given back. `only`: nothing but these lanes. */
  async #serve(signal: AbortSignal, only: readonly string[] | null = null): Promise<void> {
    const { clock, logger } = this.ports;
    this.#stop = signal;
    const renewing = this.#renewing(signal);
    for (let failures = 0; !signal.aborted;) {
      let isUsed = false;
      try {
        isUsed = await this.ports.ready();
        if (isUsed) await this.#look(only);
        failures = 0;
      } catch (error) {
        // A full disk or a locked file: what was not written is as it was, and is done when it can be.
        if ((failures += 1) === 1)
          logger.warn('runs of saved skills wait until the database can be used again', { error: messageOf(error) });
        await clock.sleep(Math.min(MOST_PAUSE_MS, 1000 * 2 ** (failures - 1)), signal).catch(() => undefined); // it is to stop
      }
      await this.#pause(isUsed ? POLL_MS : IDLE_MS, signal);
    }
    await Promise.all([renewing, this.#delivering, ...[...this.#work.values()].map(({ ended }) => ended)]);
  }

  /** Something waits in this process: look at once. */
  wake(): void {
    this.#woken = true;
    this.#wake.abort();
  }

  /** The attempt by which this process has a run; null: it has not. */
  held(runId: string): Run | null {
    const work = this.#work.get(runId);
    return work === undefined || work.gone.signal.aborted ? null : work.run;
  }

  /** Does `work` after what was asked for with the same `key` before, unless `signal` has aborted by then. */
  inTurn<T>(key: string, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    return this.#turns.run(key, () => {
      signal.throwIfAborted();
      return work();
    });
  }

  /** Executes a composed run in the slot of its parent, until it has ended or waits for a person. null: it is gone. */
  async runInside(run: NewRun, signal: AbortSignal): Promise<Run | null> {
    for (;;) {
      const begun = await this.ports.runs.beginInside(run, { holder: this.#holder, leaseMs: LEASE_MS });
      if (begun !== null) await this.#endInside(this.#begin(begun), signal);
      const found = await this.ports.runs.byId(run.id);
      if (begun !== null || found === null || hasEnded(found)) return found;
      await this.ports.clock.sleep(POLL_MS, signal); // the process that had both is gone, and this lease is not over yet
    }
  }

  async #endInside({ run, gone, ended }: Work, signal: AbortSignal): Promise<void> {
    const cancel = (): void => {
      const above = run.parentId === null ? undefined : this.#work.get(run.parentId);
      const why: unknown = above?.gone.signal.reason;
      gone.abort(why instanceof RunStopped && why.why === 'lost' ? why : new RunStopped('cancelled'));
    };
    signal.addEventListener('abort', cancel, { once: true });
    if (signal.aborted) cancel();
    await ended.finally(() => signal.removeEventListener('abort', cancel));
  }

  async #look(only: readonly string[] | null): Promise<void> {
    if (only === null) {
      await this.ports.queueDue();
      this.#deliver();
    }
    for (const lane of await this.ports.runs.busyLanes()) if (only === null || only.includes(lane)) await this.#claim(lane);
    if (only === null) await this.ports.runs.endOrphans();
  }

  /** Beside all else: leases are renewed meanwhile, and runs begin. */
  #deliver(): void {
    this.#delivering ??= this.ports
      .deliverDue()
      .then(() => void (this.#isDeliveryFailing = false))
      .catch((error: unknown) => {
        if (!this.#isDeliveryFailing) this.ports.logger.warn('results of runs cannot be delivered for now', { error: messageOf(error) });
        this.#isDeliveryFailing = true;
      })
      .finally(() => (this.#delivering = null));
  }

  /** Beside all else: what is to be done in a look may be much, and a lease is short. */
  async #renewing(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#renew().catch(() => undefined); // the database cannot be used: a look says so
      await this.ports.clock.sleep(POLL_MS, signal).catch(() => undefined); // it is to stop
    }
  }

  async #renew(): Promise<void> {
    const held = new Map(this.#work); // meanwhile another attempt may begin here, which what is read now says nothing about
    const runs = [...held.values()].map(({ run }) => run);
    for (const [id, why] of await this.ports.runs.renew(runs, LEASE_MS)) held.get(id)?.gone.abort(new RunStopped(why));
  }

  async #claim(lane: string): Promise<void> {
    const rules = this.ports.laneRules(lane);
    for (;;) {
      if (this.#stop.aborted) return;
      const claimed = await this.ports.runs.claim(lane, rules, { holder: this.#holder, leaseMs: LEASE_MS });
      if (claimed === null) return;
      if (claimed.isOver) this.#work.get(claimed.run.id)?.gone.abort(new RunStopped('lost'));
      else this.#begin(claimed.run);
    }
  }

  #begin(run: Run): Work {
    this.#work.get(run.id)?.gone.abort(new RunStopped('lost')); // an earlier attempt of this process, which had stalled
    const gone = new AbortController();
    const ended = execute(this.ports, run, this.#stop, gone.signal)
      .catch((error: unknown) => this.ports.logger.error(`run ${run.id} was left for now`, { error: messageOf(error) })) // its lease runs out, and it is taken up again
      .finally(() => {
        if (this.#work.get(run.id) === work) this.#work.delete(run.id);
        this.wake();
      });
    const work: Work = { run, gone, ended };
    this.#work.set(run.id, work);
    return work;
  }

  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    this.#wake = new AbortController();
    if (!this.#woken) await this.ports.clock.sleep(ms, AbortSignal.any([signal, this.#wake.signal])).catch(() => undefined); // woken, or it is to stop
    this.#woken = false;
  }
}
