import { untilAborted } from '@pith/promises';
import { type JobInfo, PithError } from '../../contract/index.ts';
import { infoOf } from './calls.ts';
import type { JobDeclaration, JobStore } from './port.ts';
import { hasEnded, type JobRow } from './row.ts';
import { reasonsToWait } from './why-waiting.ts';

interface Watcher {
  readonly id: string;
  /** As it was read last; null: not yet. */
  row: JobRow | null;
  whyWaiting: string | null;
  ring(): void;
}

/** Shows jobs as they change, in whichever process. */
export class Watching {
  readonly #watchers = new Set<Watcher>();
  readonly #closed = new AbortController();
  /** Changes up to this commit were seen; null: nobody watches. */
  #number: number | null = null;

  /** `began`: `look` must be called now and then. */
  constructor(
    private readonly store: JobStore,
    private readonly declared: () => ReadonlyMap<string, JobDeclaration>,
    private readonly began: () => void,
  ) {}

  get size(): number {
    return this.#watchers.size;
  }

  /** The job as others see it, with its notes and why it waits. */
  async info(row: JobRow): Promise<JobInfo> {
    return infoOf(row, await this.store.notes(row.id), await this.#reasons()(row));
  }

  async *watch(id: string, signal?: AbortSignal): AsyncGenerator<JobInfo, void, undefined> {
    const { store } = this;
    const end = signal === undefined ? this.#closed.signal : AbortSignal.any([signal, this.#closed.signal]);
    const watcher: Watcher = { id, row: null, whyWaiting: null, ring: () => undefined };
    this.#watchers.add(watcher);
    try {
      for (let seen: string | undefined; ;) {
        const changed = new Promise<void>((ring) => (watcher.ring = ring));
        if (seen === undefined) this.began();
        end.throwIfAborted();
        const row = await store.get(id);
        if (row === null) return;
        const info = await this.info(row);
        const { whyWaiting } = info;
        watcher.row = row;
        watcher.whyWaiting = whyWaiting;
        const now = `${row.changed} ${whyWaiting}`;
        if (now !== seen) yield info;
        if (hasEnded(row)) return;
        seen = now;
        await untilAborted(changed, end);
      }
    } finally {
      this.#watchers.delete(watcher);
    }
  }

  /** Tells those whose jobs have changed. */
  async look(): Promise<void> {
    const [first] = this.#watchers;
    if (first === undefined) return void (this.#number = null);
    if (this.#number === null) {
      this.#number = (await this.store.get(first.id))?.changed ?? null;
      for (const { ring } of this.#watchers) ring();
    }
    const why = this.#reasons(); // it changes with other rows, holds, extensions and the time
    for (const { row, whyWaiting, ring } of this.#watchers) if (row !== null && (await why(row)) !== whyWaiting) ring();
    while (this.#number !== null) {
      const { number, ids } = await this.store.changesSince(this.#number);
      if (ids.length === 0) return;
      this.#number = number;
      const changed = new Set(ids);
      for (const { id, ring } of this.#watchers) if (changed.has(id)) ring();
    }
  }

  #reasons(): ReturnType<typeof reasonsToWait> {
    return reasonsToWait(this.store, this.declared);
  }

  close(): void {
    this.#closed.abort(new PithError('stopped', 'Pith is stopping'));
  }
}
