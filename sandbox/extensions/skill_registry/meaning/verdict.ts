import { createHash } from 'node:crypto';
import path from 'node:path';
import { type Diagnostic, messageOf } from 'pith';
import { stateFolder } from '@pith/safe-files';
import type { EvalCase } from '../evaluation/evaluate.ts';
import type { EmbeddingFailure } from './embedding-client.ts';
import type { MeaningOptions } from './meaning.ts';

/** What measuring a model on the examples of the skills came to. */
export interface Measure {
  /** Of the cases. */
  readonly digest: string;
  readonly cases: number;
  /** nDCG@10 of the words alone, and of words and meaning. */
  readonly lexical: number;
  readonly fused: number;
}

/** With fewer examples a figure says nothing. */
export const ENOUGH_CASES = 20;
const MOST_BYTES = 1024 * 1024;
const MOST_MODELS = 20;
const FILE = 'embedding-measures.json';

export function isWorse({ lexical, fused }: Measure): boolean {
  return fused < lexical - 1e-9;
}

export function digestOf(cases: readonly EvalCase[]): string {
  return createHash('sha256')
    .update(JSON.stringify(cases.map(({ skillId, text }) => [skillId, text])))
    .digest('hex');
}

/** The figures in words. */
export function figuresText(model: string, { cases, lexical, fused }: Measure): string {
  const verb = fused < lexical ? 'lowers' : 'changes';
  return `the embedding model ${model} ${verb} nDCG@10 on ${cases} examples of your skills from ${lexical.toFixed(3)} to ${fused.toFixed(3)}`;
}

/** What `pith doctor` says of a model that is set up. */
export function findingOf(model: string, measure: Measure | null, cases: number, rule: 'measured' | 'always'): readonly Diagnostic[] {
  if (measure !== null && isWorse(measure)) {
    const refused = rule === 'measured' ? ': it is not used' : ', and is used because skills.embedding is always';
    const cure = 'Name another model in extensions.embedding.model, or set skills.embedding to always';
    return [{ severity: 'warning', code: 'embedding_refused', message: `${figuresText(model, measure)}${refused}`, cure }];
  }
  if (measure !== null || cases >= ENOUGH_CASES) return [];
  const message = `the embedding model ${model} is used without having been measured: the skills have ${cases} examples, ${ENOUGH_CASES} are needed`;
  return [
    { severity: 'info', code: 'embedding_unmeasured', message, cure: "give skills 'examples', or ask: pith skills eval --ranker fused" },
  ];
}

/** What it says of a model that gives no vectors now. */
export function failureFinding({ model, purpose, message, cure, at }: EmbeddingFailure): Diagnostic {
  const [what, so] = purpose === 'query' ? ['vector for a search', 'words alone decide'] : ['vectors for skills', 'words find these'];
  const told = `the embedding model ${model} gave no ${what} (${new Date(at).toISOString()}), so ${so}: ${message}`;
  return { severity: 'warning', code: 'embedding_failed', message: told, cure: cure ?? 'Check extensions.embedding in pith.yaml' };
}

type Place = Pick<MeaningOptions, 'dataDirectory' | 'logger'>;

/** The last measure of a model; null where it was not measured. */
export function measureOf(model: string, place: Place): Measure | null {
  return measuresIn(place).get(model) ?? null;
}

export async function keepMeasure(model: string, measure: Measure, { dataDirectory, logger }: Place): Promise<void> {
  const known = measuresIn({ dataDirectory, logger });
  known.delete(model);
  known.set(model, measure);
  try {
    const text = `${JSON.stringify(Object.fromEntries([...known].slice(-MOST_MODELS)), null, 2)}\n`;
    await stateFolder(dataDirectory).write(FILE, text);
  } catch (error) {
    logger.warn(`the figures of the embedding model cannot be kept in ${dataDirectory}: ${messageOf(error)}`);
  }
}

function measuresIn({ dataDirectory, logger }: Place): Map<string, Measure> {
  try {
    const given = JSON.parse(String(stateFolder(dataDirectory).read(FILE, MOST_BYTES) ?? '{}')) as Readonly<Record<string, unknown>>;
    return new Map(Object.entries(given).flatMap(([model, measure]) => (isMeasure(measure) ? [[model, measure] as const] : [])));
  } catch (error) {
    logger.warn(`${path.join(dataDirectory, FILE)} cannot be used and is rebuilt: ${messageOf(error)}`);
    return new Map();
  }
}

function isMeasure(given: unknown): given is Measure {
  const { digest, cases, lexical, fused } = (typeof given === 'object' && given !== null ? given : {}) as Partial<Measure>;
  return typeof digest === 'string' && [cases, lexical, fused].every((value) => typeof value === 'number' && Number.isFinite(value));
}
