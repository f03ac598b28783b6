import { type ExtensionContext, z } from 'pith';

const stored = z.object({ turnId: z.string(), turns: z.number(), matched: z.array(z.tuple([z.string(), z.number()])) });

/** The skills that triggers matched in one thread, at the start of a turn. */
export interface MatchedSkills {
  /** The last counted turn. */
  readonly turnId: string | null;
  /** The number of counted turns. */
  readonly turns: number;
  /** References, each with the number of the last turn that matched it; latest first. */
  readonly matched: readonly (readonly [reference: string, turn: number])[];
}

const NOTHING: MatchedSkills = { turnId: null, turns: 0, matched: [] };
/** The most skills of a thread. */
const MOST = 50;
/** With more threads all are forgotten, and their skills matched again. */
const THREADS = 10_000;
const PREFIX = 'thread/';

/** Stores by thread which skills triggers matched, for later turns and processes. Never throws: what is not stored is matched again. */
export class MatchedByThread {
  #written: Promise<void> = Promise.resolve();

  constructor(private readonly ports: Pick<ExtensionContext, 'kv' | 'logger'>) {}

  async of(threadId: string): Promise<MatchedSkills> {
    await this.#written;
    try {
      return stored.safeParse(await this.ports.kv.get(PREFIX + threadId)).data ?? NOTHING;
    } catch (error) {
      this.ports.logger.warn('what triggers brought before is not known', { error: String(error) });
      return NOTHING;
    }
  }

  /** Counts one more turn of the thread, which matched these. */
  add(threadId: string, turnId: string, { turns, matched }: MatchedSkills, references: readonly string[]): void {
    const number = turns + 1;
    const others = matched.filter(([reference]) => !references.includes(reference));
    const all = [...references.map((reference) => [reference, number] as const), ...others].slice(0, MOST);
    this.#written = this.#written.then(() => this.#write(threadId, { turnId, turns: number, matched: all }));
  }

  /** Resolves when all is on disk. */
  settled(): Promise<void> {
    return this.#written;
  }

  async #write(threadId: string, value: MatchedSkills): Promise<void> {
    const { kv, logger } = this.ports;
    try {
      const others = value.turns === 1 ? await kv.keys(PREFIX) : [];
      if (others.length >= THREADS) await Promise.all(others.map((key) => kv.delete(key)));
      await kv.set(PREFIX + threadId, { ...value, matched: value.matched.map((each) => [...each]) });
    } catch (error) {
      logger.warn('matched skills cannot be stored', { error: String(error) });
    }
  }
}
