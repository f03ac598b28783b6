import { within, type Clock } from 'pith';
import type { EmbeddingClient } from './embedding-client.ts';

const KEPT = 256;
const LONGEST = 4000;
/** Requests under way at once; while one is late, nobody waits for another. */
const MOST_ASKED = 4;

/** Vectors of what is searched for, the last few hundred kept. */
export class QueryVectors {
  readonly #client: EmbeddingClient;
  readonly #clock: Clock;
  readonly #kept = new Map<string, Float32Array>();
  readonly #asked = new Map<string, Promise<Float32Array | null>>();
  readonly #end = new AbortController();
  #late = 0;

  constructor(client: EmbeddingClient, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  /** null where it fails or takes longer; a late one is kept for the next time. */
  async of(query: string, limitMs: number): Promise<Float32Array | null> {
    const text = query.trim().slice(0, LONGEST);
    if (text === '') return null;
    const known = this.#kept.get(text);
    if (known !== undefined) return known;
    const waits = this.#late === 0;
    const asked = this.#asked.get(text) ?? this.#ask(text);
    if (asked === null || !waits) return null;
    return within(this.#clock, limitMs, asked, () => {
      this.#late++;
      void asked.finally(() => this.#late--);
      return null;
    });
  }

  close(): void {
    this.#end.abort();
  }

  #ask(text: string): Promise<Float32Array | null> | null {
    if (this.#asked.size >= MOST_ASKED || this.#client.restMs > 0) return null;
    const asked = this.#client.embed([text], 'query', this.#end.signal).then((vectors) => {
      this.#asked.delete(text);
      const vector = vectors?.[0] ?? null;
      if (vector !== null) this.#keep(text, vector);
      return vector;
    });
    this.#asked.set(text, asked);
    return asked;
  }

  #keep(text: string, vector: Float32Array): void {
    this.#kept.set(text, vector);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= KEPT) break;
      this.#kept.delete(oldest);
    }
  }
}
