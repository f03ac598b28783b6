import { setImmediate as breathe } from 'node:timers/promises';
import { messageOf, PithError, stateFolder, type CommandContext } from 'pith';
import { CatalogDb, type Indexed } from './catalog-db.ts';

const AT_ONCE = { documents: 24, characters: 150_000 } as const;
/** While another process writes, so many wait; those beyond are read again by the next start. */
const MOST_WAITING = 400;
const RETRY_MS = 2000;
const READ = { attempts: 50, everyMs: 20 } as const;
const REOPEN_MS = 60_000;
/** Where the index stood before there was `catalog.db`. */
const FORMER = 'search-index';

/** Writes what was indexed into `catalog.db`, a few at a time. Whatever happens to the file costs a line and the file. */
export class CatalogDbWriter {
  readonly #context: CommandContext;
  readonly #reopened: () => Promise<void>;
  #file: CatalogDb | null = null;
  #waiting = new Map<string, Indexed>();
  #removed = new Map<string, string>();
  #characters = 0;
  #writing: Promise<void> = Promise.resolve();
  #later: (() => void) | null = null;
  #said = '';
  #closed = false;
  #reopening: Promise<void> | null = null;
  #released: Promise<void> = Promise.resolve();

  /** `reopened`: there is a file again, which may lack much. */
  constructor(context: CommandContext, reopened: () => Promise<void>) {
    this.#context = context;
    this.#reopened = reopened;
  }

  /** null where there can be none now. */
  get file(): CatalogDb | null {
    return this.#file;
  }

  async open(): Promise<void> {
    try {
      const file = await CatalogDb.open(this.#context);
      if (this.#closed) return await file.close();
      this.#file = file;
      stateFolder(this.#context.dataDirectory).remove(FORMER);
    } catch (error) {
      this.#without(error);
    }
  }

  /** Skills that it has. */
  count(): number {
    try {
      return this.#file?.count() ?? 0;
    } catch {
      return 0; // who loads it is told why
    }
  }

  /** Reads it in pieces, from the start again where another process was in the way. False where it made no sense, and there is a new one. */
  async load(read: (file: CatalogDb) => Iterable<void>): Promise<boolean> {
    for (let attempt = 1; this.#file !== null; attempt++) {
      try {
        for (const _ of read(this.#file)) await breathe();
        return true;
      } catch (error) {
        if (!isRetryable(error)) await this.#renew(error);
        else if (attempt === READ.attempts) this.failed(error);
        else {
          await this.#context.clock.sleep(READ.everyMs);
          continue;
        }
        return false;
      }
    }
    return false;
  }

  put(indexed: Indexed): Promise<void> {
    if (this.#file === null) return this.#writing;
    this.#removed.delete(indexed.counted.id);
    this.#waiting.set(indexed.counted.id, indexed);
    this.#characters += indexed.document.body.length;
    return this.#waiting.size >= AT_ONCE.documents || this.#characters >= AT_ONCE.characters ? this.flush() : this.#writing;
  }

  remove(id: string, version: string | null): void {
    this.#waiting.delete(id);
    if (version !== null) this.#removed.set(id, version);
  }

  /** Writes what waits. Never rejects. */
  flush(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#flush());
    return this.#writing;
  }

  async #renew(why: unknown): Promise<void> {
    this.#context.logger.warn(`the cache ${this.#file?.file} is of no use and is made anew: ${messageOf(why)}`);
    this.#file?.spoil();
    await this.#release();
    await this.open();
  }

  /** It cannot be read or written any more. */
  failed(error: unknown): void {
    this.#without(error);
    void this.#release();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#later?.();
    await this.#reopening;
    await this.flush();
    await this.#release();
  }

  async #flush(): Promise<void> {
    if (this.#file === null || (this.#waiting.size === 0 && this.#removed.size === 0)) return;
    const [waiting, removed] = [this.#waiting, this.#removed];
    [this.#waiting, this.#removed, this.#characters] = [new Map(), new Map(), 0];
    try {
      if (await this.#file.write([...waiting.values()], removed)) this.#said = '';
      else this.#again(waiting, removed);
    } catch (error) {
      this.failed(error);
    }
  }

  /** Another process is writing. What came meanwhile is newer. */
  #again(waiting: ReadonlyMap<string, Indexed>, removed: ReadonlyMap<string, string>): void {
    this.#waiting = new Map([...waiting, ...this.#waiting].slice(-MOST_WAITING));
    this.#removed = new Map([...removed, ...this.#removed]);
    for (const id of this.#waiting.keys()) this.#removed.delete(id);
    this.#after(RETRY_MS, () => void this.flush());
  }

  #without(error: unknown): void {
    const { logger } = this.#context;
    const why = messageOf(error);
    if (why !== this.#said) logger.warn(`what search learns is not kept: ${why}; a start without it reads every skill again`);
    this.#said = why;
    if (!(error instanceof PithError)) logger.debug('catalog.db', { error: String(error) });
    this.#after(REOPEN_MS, () => (this.#reopening = this.#reopen()));
  }

  /** Never rejects. */
  async #reopen(): Promise<void> {
    if (this.#closed || this.#file !== null) return;
    await this.open();
    try {
      if (this.#file !== null) await this.#reopened();
    } catch (error) {
      this.failed(error);
    }
  }

  #after(ms: number, run: () => void): void {
    this.#later?.();
    this.#later = this.#closed ? null : this.#context.clock.after(ms, run);
  }

  /** Resolves when all files are closed. Never rejects. */
  #release(): Promise<void> {
    const file = this.#file;
    this.#file = null;
    if (file !== null) this.#released = Promise.allSettled([this.#released, file.close()]).then(() => undefined);
    return this.#released;
  }
}

/** Removes the file with all that was ever in it. Whoever uses it makes a new one. */
export function removeCatalogDb(dataDirectory: string): void {
  for (const name of ['catalog.db-journal', 'catalog.db']) stateFolder(dataDirectory).remove(name);
}

/** Another process was in the way. */
export function isRetryable(error: unknown): boolean {
  return error instanceof PithError && error.retryable;
}
