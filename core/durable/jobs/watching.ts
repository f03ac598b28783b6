import { untilAborted } from '@pith/promises';
import { type JobInfo, PithError } from '../../contract/index.ts';
import type { JobStore } from './port.ts';
import { hasEnded, type JobRow } from './row.ts';

/** Shows jobs as they change, in whichever process. */
export class Watching {
  readonly #rings = new Map<object, { readonly id: string; readonly isWaiting: boolean; ring(): void }>();
  readonly #closed = new AbortController();
  /** Changes up to this commit were seen; null: nobody watches. */
  #number: number | null = null;

  /** `began`: `look` must be called now and then. */
  constructor(
    private readonly store: JobStore,
    private readonly info: (row: JobRow) => Promise<JobInfo>,
    private readonly began: () => void,
  ) {}

  get size(): number {
    return this.#rings.size;
  }

  async *watch(id: string, signal?: AbortSignal): AsyncGenerator<JobInfo, void, undefined> {
    const { store } = this;
    const end = signal === undefined ? this.#closed.signal : AbortSignal.any([signal, this.#closed.signal]);
    const watcher = {};
    try {
      let seen: string | undefined;
      for (let isWaiting = false; ;) {
        const changed = new Promise<void>((ring) => void this.#rings.set(watcher, { id, isWaiting, ring }));
        if (seen === undefined) this.began();
        end.throwIfAborted();
        const row = await store.get(id);
        if (row === null) return;
        const info = await this.info(row);
        const now = `${row.changed} ${info.whyWaiting}`;
        if (now !== seen) yield info;
        if (hasEnded(row)) return;
        seen = now;
        isWaiting = row.state === 'waiting';
        await untilAborted(changed, end);
      }
    } finally {
      this.#rings.delete(watcher);
    }
  }

  /** Tells those whose jobs have changed. */
  async look(): Promise<void> {
    const [first] = this.#rings.values();
    if (first === undefined) return void (this.#number = null);
    if (this.#number === null) {
      this.#number = (await this.store.get(first.id))?.changed ?? null;
      for (const { ring } of this.#rings.values()) ring();
    }
    for (const { isWaiting, ring } of this.#rings.values()) if (isWaiting) ring(); // why it waits may have changed
    while (this.#number !== null) {
      const { number, ids } = await this.store.changesSince(this.#number);
      if (ids.length === 0) return;
      this.#number = number;
      const changed = new Set(ids);
      for (const { id, ring } of this.#rings.values()) if (changed.has(id)) ring();
    }
  }

  close(): void {
    this.#closed.abort(new PithError('stopped', 'Pith is stopping'));
  }
}
