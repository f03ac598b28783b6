import { fuse, RESCORED, UNION_UP_TO } from '../../sandbox/extensions/skill_registry/search/fusion.ts';
import type { SearchDocument } from '../../sandbox/extensions/skill_registry/search/ranker.ts';
import { rankerOf, type Searcher } from './search-rankers.ts';

export interface Endpoint {
  /** Of an OpenAI-compatible server, up to where `/embeddings` follows. */
  readonly url: string;
  readonly model: string;
}

const AT_ONCE = 64;

/** The fused ranking over vectors of a real model. A key is taken from OPENAI_API_KEY. */
export async function embedded(documents: readonly SearchDocument[], endpoint: Endpoint): Promise<Searcher> {
  const ranker = rankerOf(documents);
  const vectors = new Map<string, Float32Array>();
  for (let from = 0; from < documents.length; from += AT_ONCE) {
    const some = documents.slice(from, from + AT_ONCE);
    const texts = some.map(({ name, description }) => `${name}: ${description}`);
    const made = await vectorsOf(texts, endpoint);
    some.forEach(({ id }, at) => vectors.set(id, made[at]!));
  }
  const count = documents.length;
  return {
    name: `fused with ${endpoint.model}`,
    find: async (text, { k, weak = false }) => {
      const lexical = ranker.rank(text, { k: count <= UNION_UP_TO ? count : Math.max(k, RESCORED), weak });
      const [query] = await vectorsOf([text], endpoint);
      return fuse({ lexical, query: query!, vectors, count, k, weak }).map(({ id }) => id);
    },
  };
}

async function vectorsOf(input: readonly string[], { url, model }: Endpoint): Promise<readonly Float32Array[]> {
  const key = process.env['OPENAI_API_KEY'];
  const response = await fetch(`${url.replace(/\/$/, '')}/embeddings`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(key === undefined ? {} : { authorization: `Bearer ${key}` }) },
    body: JSON.stringify({ model, input }),
  });
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  const { data } = (await response.json()) as { data: { index: number; embedding: number[] }[] };
  return data.toSorted((a, b) => a.index - b.index).map(({ embedding }) => unit(embedding));
}

function unit(vector: readonly number[]): Float32Array {
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0)) || 1;
  return Float32Array.from(vector, (value) => value / length);
}
