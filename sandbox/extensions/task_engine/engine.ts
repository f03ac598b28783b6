import { randomBytes } from 'node:crypto';
import { messageOf, type Clock, type Logger } from 'pith';
import type { Announcer } from './announcer.ts';
import type { TaskStore, TaskWrite } from './task-store.ts';
import { LONGEST_WAIT_MS, type TaskEvent } from './transitions.ts';
import { workOn, type WorkerPorts } from './worker.ts';
import { hasEnded, type Task } from './task.ts';

export interface EnginePorts extends WorkerPorts {
  readonly store: TaskStore;
  readonly announcer: Announcer;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly maxConcurrent: number;
}

/** Short, so that after `kill -9` a task goes on soon; longer than the event loop is ever blocked. */
const LEASE_MS = 3_000;
/** How soon other processes' changes are seen. What this process changes is seen at once. */
const POLL_MS = 500;
/** Between two looks while the database cannot be used. */
const MOST_PAUSE_MS = 30_000;

interface Worker {
  readonly taskId: string;
  readonly claim: string;
  readonly lost: AbortController;
  readonly ended: Promise<void>;
}

/** Works on the tasks of a sandbox. Each claim is one write with its condition, so that any number of processes may run one. */
export class Engine {
  readonly #owner = `${process.pid}-${randomBytes(6).toString('hex')}`;
  readonly #workers = new Set<Worker>();
  #claims = 0;
  #renewAt = 0;
  #woken = false;
  #nap = new AbortController();

  constructor(private readonly ports: EnginePorts) {}

  /** Until `signal` aborts; then the workers are interrupted, and their tasks given back. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.ports;
    const stop = new AbortController();
    try {
      for (let failures = 0; !signal.aborted;) {
        try {
          await this.#look(stop.signal);
          failures = 0;
        } catch (error) {
          // A full disk or a locked file: what was not written is as it was, and is done when it can be.
          if ((failures += 1) === 1) logger.warn('tasks wait until the database can be used again', { error: messageOf(error) });
          await clock.sleep(Math.min(MOST_PAUSE_MS, 1000 * 2 ** (failures - 1)), signal).catch(() => undefined); // it is to stop
        }
        await this.#pause(signal);
      }
    } finally {
      stop.abort();
      await Promise.all([...this.#workers].map(({ ended }) => ended));
    }
  }

  async #look(stop: AbortSignal): Promise<void> {
    const { store, announcer } = this.ports;
    await store.ready();
    await this.#dropLost();
    await store.shorten(LEASE_MS, LONGEST_WAIT_MS);
    await this.#renew();
    await releaseWaiting(store);
    await this.#claim(stop);
    await announcer.announce();
  }

  /** Something has changed in this process: look at once. */
  wake(): void {
    this.#woken = true;
    this.#nap.abort();
  }

  /** Moves on what waited, and reports what has changed. For processes in which the engine may not run. */
  async settle(): Promise<void> {
    await releaseWaiting(this.ports.store);
    await this.ports.announcer.announce();
    this.wake();
  }

  /** By which this process works on the task; undefined: it does not. */
  claimOf(taskId: string): string | undefined {
    return [...this.#workers].find((worker) => worker.taskId === taskId && !worker.lost.signal.aborted)?.claim;
  }

  async #claim(stop: AbortSignal): Promise<void> {
    const { store, maxConcurrent } = this.ports;
    while (this.#workers.size < maxConcurrent) {
      const claim = `${this.#owner}-${(this.#claims += 1)}`;
      const task = await store.claim(claim, LEASE_MS, maxConcurrent);
      if (task === null) return;
      const lost = new AbortController();
      const work = workOn(this.ports, task, { name: claim, stop, lost: lost.signal }).catch((error: unknown) =>
        // The claim runs out, and the task is taken up again where it is.
        this.ports.logger.error(`task ${task.id} was left for now`, { error: messageOf(error) }),
      );
      const worker: Worker = { taskId: task.id, claim, lost, ended: work.finally(() => this.#left(worker)) };
      this.#workers.add(worker);
    }
  }

  #left(worker: Worker): void {
    this.#workers.delete(worker);
    this.wake();
  }

  /** A task that was cancelled, or taken by another process after this one was held up. */
  async #dropLost(): Promise<void> {
    for (const { taskId, claim, lost } of this.#workers) if (!(await this.ports.store.holds(taskId, claim))) lost.abort();
  }

  async #renew(): Promise<void> {
    const { store, clock } = this.ports;
    const wait = this.#renewAt - clock.now(); // longer than it can be: the clock was set back
    if (this.#workers.size === 0 || (wait > 0 && wait <= LEASE_MS / 3)) return;
    await store.renew([...this.#workers], LEASE_MS);
    this.#renewAt = clock.now() + LEASE_MS / 3;
  }

  async #pause(signal: AbortSignal): Promise<void> {
    this.#nap = new AbortController();
    if (!this.#woken) await this.ports.clock.sleep(POLL_MS, AbortSignal.any([signal, this.#nap.signal])).catch(() => undefined); // woken, or it is to stop
    this.#woken = false;
  }
}

/** Moves on what waited for tasks that have ended, until nothing more moves. Any number of processes may do so at once. */
async function releaseWaiting(store: TaskStore): Promise<void> {
  let moved = true;
  for (let waiting = await store.released(); moved && waiting.length > 0; waiting = await store.released()) {
    moved = false;
    for (const { id } of waiting) moved = (await store.write((tasks) => release(tasks, id))) || moved;
  }
}

async function release(tasks: TaskWrite, id: string): Promise<boolean> {
  const task = await tasks.load(id);
  const event = task && (await eventFor(tasks, task));
  if (!event || !(await tasks.change(id, event))) return false;
  if (event.type === 'subtasks_ended') await tasks.acknowledge(event.endedSubtasks.map((each) => each.id));
  return true;
}

/** What happened to a waiting task; null when another process has moved it already. */
async function eventFor(tasks: TaskWrite, task: Task): Promise<TaskEvent | null> {
  if (hasEnded(task)) return null;
  const parent = task.parent === null ? null : await tasks.load(task.parent);
  if (parent && hasEnded(parent) && parent.state !== 'done')
    return { type: 'cancelled', why: `its parent ${parent.id} is ${parent.state}` };
  if (task.state === 'blocked') {
    const before = await Promise.all(task.after.map((each) => tasks.load(each)));
    const broken = before.find((each) => each?.state === 'failed' || each?.state === 'cancelled');
    if (broken) return { type: 'abandoned', why: `it waited for ${broken.id}, which is ${broken.state}` };
    return before.every((each) => each === null || each.state === 'done') ? { type: 'unblocked' } : null;
  }
  if (task.state !== 'waiting_subtasks') return null;
  const subtasks = await tasks.subtasks(task.id);
  return subtasks.every(hasEnded) ? { type: 'subtasks_ended', endedSubtasks: subtasks.filter(({ told }) => !told) } : null;
}
