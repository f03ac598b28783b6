import { PithError } from 'pith';

/** The vectors of an answer in the order of its texts. Throws `model_failed` for anything else than one vector of finite numbers for each. */
export function vectorsIn(text: string, count: number, host: string): readonly (readonly number[])[] {
  let data: unknown;
  try {
    data = (JSON.parse(text) as { readonly data?: unknown } | null)?.data;
  } catch {
    throw odd(host, 'something that is no JSON'); // without the text: it may hold anything
  }
  if (!Array.isArray(data) || data.length !== count) throw odd(host, `not ${count} vectors`);
  const vectors: (readonly number[])[] = [];
  for (const [at, row] of (data as readonly Row[]).entries()) {
    const place = row?.index ?? at;
    const vector = row?.embedding;
    if (!Array.isArray(vector) || vector.length === 0 || !vector.every((value) => Number.isFinite(value)))
      throw odd(host, 'a vector that is not made of numbers');
    if (!Number.isInteger(place) || place < 0 || place >= count || vectors[place] !== undefined) throw odd(host, 'vectors in no order');
    if (vector.length !== (data as readonly Row[])[0]?.embedding?.length) throw odd(host, 'vectors of different lengths');
    vectors[place] = vector;
  }
  return vectors;
}

type Row = { readonly index?: number; readonly embedding?: readonly number[] } | null;

function odd(host: string, what: string): PithError {
  return new PithError('model_failed', `embeddings: ${host} sent ${what}`, {
    cure: 'check that extensions.embedding.model names an embedding model of this server',
  });
}
