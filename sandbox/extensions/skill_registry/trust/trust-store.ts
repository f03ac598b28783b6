import { type Clock, type Logger, messageOf } from 'pith';
import { type TrustedSource, type TrustedTree, TrustFile } from './trust-file.ts';

/** What this process has found of one source and is not in the file yet. */
interface Pending {
  /** The source as it was trusted with the project; null: the file has its record. */
  adopted: TrustedSource | null;
  /** By the skill's folder, relative to the source. */
  readonly seen: Map<string, TrustedTree>;
  /** Grows with each change. */
  version: number;
}

/** What a person trusts, with what was found since. It counts in this process at once, and is written in the background: neither a lock nor a full disk keeps anybody from their skills. */
export class TrustStore {
  readonly file: TrustFile;
  readonly #clock: Clock;
  readonly #logger: Logger;
  /** By the source's real path. */
  readonly #pending = new Map<string, Pending>();
  #writing: Promise<void> = Promise.resolve();

  constructor({ dataDirectory, clock, logger }: { readonly dataDirectory: string; readonly clock: Clock; readonly logger: Logger }) {
    this.file = new TrustFile(dataDirectory);
    this.#clock = clock;
    this.#logger = logger;
  }

  /** null where nothing of the source at that real path is trusted, or the file is damaged. */
  sourceAt(place: string): TrustedSource | null {
    const { sources, problem } = this.file.read();
    return problem === null ? merged(sources.get(place) ?? null, this.#pending.get(place)) : null;
  }

  /** Takes a source that was trusted with the project as it is, unless there is a record of it by now. `lasts`: also for other processes. */
  adopt(place: string, source: TrustedSource, lasts: boolean): void {
    this.#of(place).adopted = source;
    if (lasts) this.#write(place);
  }

  /** A skill of a trusted source was found to be all right as it is now, or to wait. */
  note(place: string, folder: string, tree: TrustedTree): void {
    this.#of(place).seen.set(folder, tree);
    this.#write(place);
  }

  /** Resolves when everything is written, or could not be. */
  close(): Promise<void> {
    return this.#writing;
  }

  #of(place: string): Pending {
    const pending = this.#pending.get(place) ?? { adopted: null, seen: new Map(), version: 0 };
    this.#pending.set(place, pending);
    pending.version += 1;
    return pending;
  }

  /** What could not be written goes with the next change of that source. */
  #write(place: string): void {
    this.#writing = this.#writing.then(async () => {
      const pending = this.#pending.get(place);
      if (pending === undefined) return; // an earlier write took it along
      try {
        let written = -1;
        await this.file.change(place, this.#clock, (before) => {
          written = pending.version;
          return merged(before, pending);
        });
        if (pending.version === written) this.#pending.delete(place);
      } catch (error) {
        this.#logger.warn('what is trusted of skills was not written', { file: this.file.file, why: messageOf(error) });
      }
    });
  }
}

/** What a person took back meanwhile stays taken back. */
function merged(before: TrustedSource | null, pending: Pending | undefined): TrustedSource | null {
  const source = before ?? pending?.adopted ?? null;
  if (source === null || pending === undefined) return source;
  const seen = [...pending.seen].filter(([folder]) => source.whole || source.skills.has(folder));
  return { ...source, skills: new Map([...source.skills, ...seen]) };
}
