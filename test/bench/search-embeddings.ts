import type { SearchDocument } from '../../sandbox/extensions/skill_registry/search/ranker.ts';
import { rankerOf, type Searcher } from './search-rankers.ts';

export interface Endpoint {
  /** Of an OpenAI-compatible server, up to where `/embeddings` follows. */
  readonly url: string;
  readonly model: string;
}

const AT_ONCE = 64;
const CANDIDATES = 50;

/** The fused ranking over vectors of a real model. A key is taken from OPENAI_API_KEY. */
export async function embedded(documents: readonly SearchDocument[], endpoint: Endpoint): Promise<Searcher> {
  const ranker = rankerOf(documents);
  const vectors = new Map<string, readonly number[]>();
  for (let from = 0; from < documents.length; from += AT_ONCE) {
    const some = documents.slice(from, from + AT_ONCE);
    const made = await vectorsOf(
      some.map(({ name, description }) => `${name}: ${description}`),
      endpoint,
    );
    some.forEach(({ id }, at) => vectors.set(id, made[at]!));
  }
  return {
    name: `fused with ${endpoint.model}`,
    find: async (text, { k, weak = false }) => {
      const few = documents.length <= 1000;
      const lexical = ranker.rank(text, { k: few ? documents.length : CANDIDATES, weak });
      const [query] = await vectorsOf([text], endpoint);
      const best = lexical[0]?.score ?? 1;
      const scores = new Map(lexical.map(({ id, score }) => [id, (0.6 * score) / best]));
      for (const id of few ? vectors.keys() : [...scores.keys()])
        scores.set(id, (scores.get(id) ?? 0) + 0.4 * cosine(query!, vectors.get(id)!));
      const sorted = [...scores].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
      return sorted.slice(0, k).map(([id]) => id);
    },
  };
}

async function vectorsOf(input: readonly string[], { url, model }: Endpoint): Promise<readonly (readonly number[])[]> {
  const key = process.env['OPENAI_API_KEY'];
  const response = await fetch(`${url.replace(/\/$/, '')}/embeddings`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(key === undefined ? {} : { authorization: `Bearer ${key}` }) },
    body: JSON.stringify({ model, input }),
  });
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  const { data } = (await response.json()) as { data: { index: number; embedding: number[] }[] };
  return data.toSorted((a, b) => a.index - b.index).map(({ embedding }) => embedding);
}

function cosine(a: readonly number[], b: readonly number[]): number {
  let [dot, left, right] = [0, 0, 0];
  for (let at = 0; at < a.length; at++) {
    dot += a[at]! * b[at]!;
    left += a[at]! ** 2;
    right += b[at]! ** 2;
  }
  return dot / Math.sqrt(left * right || 1);
}
