import type { RankedSkill } from 'pith/skill_registry';

export interface FusionInput {
  /** Ranked by words, best first. */
  readonly lexical: readonly RankedSkill[];
  /** Of length 1, like every vector here. */
  readonly query: Float32Array;
  readonly vectors: ReadonlyMap<string, Float32Array>;
  /** The number of all searchable skills. */
  readonly count: number;
  /** Only ids for which this is true are added to the lexical ones. */
  readonly among?: (id: string) => boolean;
  readonly k: number;
  /** Also adds skills that are not near, for places that would stay empty. */
  readonly weak: boolean;
}

/** With more skills, only the first of the lexical answer are scored again. */
export const UNION_UP_TO = 1000;
export const RESCORED = 50;
export const SIMILAR = 'similar meaning';

const WORDS = 0.6;
const MEANING = 0.4;
/** The most skills without a matching word, where weak ones are unwanted. */
const MOST_NEAR = 10;
/** With fewer vectors a deviation is not meaningful. */
const FEW = 20;
const NEAR_OF_FEW = 0.35;
const NEAR = 0.2;
const DEVIATIONS = 2.5;

/**
 * Orders by words and meaning: 0.6 · lexical / best + 0.4 · cosine. Up to 1,000 skills, over all that words or meaning find; with more, it
 * scores the lexical top 50 again. A skill without a vector gets the average cosine of the others in the lexical answer, so that it neither
 * rises nor falls.
 */
export function fuse(input: FusionInput): readonly RankedSkill[] {
  const { lexical, query, vectors, count, k } = input;
  const union = count <= UNION_UP_TO;
  const [scored, rest] = union ? [lexical, []] : [lexical.slice(0, RESCORED), lexical.slice(RESCORED)];
  const cosines = scored.map(({ id }) => cosineOf(vectors.get(id), query));
  const known = cosines.filter((cosine) => cosine !== null);
  const { near, least } = union ? nearest(input) : { near: [], least: Infinity };
  if (known.length === 0 && near.length === 0) return lexical.slice(0, k);
  const average = known.length === 0 ? 0 : known.reduce((sum, cosine) => sum + cosine, 0) / known.length;
  const highest = Math.max(...scored.map(({ score }) => score), 0) || 1;
  const fused = scored.map(({ weak, ...found }, at) => ({
    ...found,
    score: WORDS * (found.score / highest) + MEANING * (cosines[at] ?? average),
    ...(weak === true && (cosines[at] ?? 0) < least ? { weak } : {}),
  }));
  for (const { id, cosine, weak } of near) fused.push({ id, score: MEANING * cosine, why: [SIMILAR], ...(weak ? { weak } : {}) });
  fused.sort((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1));
  const lowest = fused.at(-1)?.score ?? 0;
  const after = rest.map((found) => ({ ...found, score: Math.min(lowest, WORDS * (found.score / highest)) }));
  return [...fused, ...after].slice(0, k);
}

interface Near {
  readonly id: string;
  readonly cosine: number;
  readonly weak: boolean;
}

/** Skills that no word finds, nearest first. Near means: well ahead of the rest, since models differ in their general similarity. */
function nearest({ lexical, query, vectors, among, k, weak }: FusionInput): { readonly near: readonly Near[]; readonly least: number } {
  const found = new Set(lexical.map(({ id }) => id));
  const others: { id: string; cosine: number }[] = [];
  let [number, sum, squares] = [0, 0, 0];
  for (const [id, vector] of vectors) {
    if (among !== undefined && !among(id)) continue;
    const cosine = cosineOf(vector, query);
    if (cosine === null) continue;
    number++;
    sum += cosine;
    squares += cosine * cosine;
    if (cosine > 0 && !found.has(id)) others.push({ id, cosine });
  }
  const mean = sum / (number || 1);
  const deviation = Math.sqrt(Math.max(0, squares / (number || 1) - mean * mean));
  const least = number < FEW ? NEAR_OF_FEW : Math.max(NEAR, mean + DEVIATIONS * deviation);
  const near = others
    .map((one) => ({ ...one, weak: one.cosine < least }))
    .filter((one) => weak || !one.weak)
    .sort((a, b) => b.cosine - a.cosine || (a.id < b.id ? -1 : 1))
    .slice(0, weak ? k : MOST_NEAR);
  return { near, least };
}

/** null where there is no vector. A negative cosine counts as zero: nothing in common. */
function cosineOf(vector: Float32Array | undefined, query: Float32Array): number | null {
  if (vector === undefined || vector.length !== query.length) return null;
  let sum = 0;
  for (let at = 0; at < vector.length; at++) sum += vector[at]! * query[at]!;
  return Math.max(0, sum);
}
