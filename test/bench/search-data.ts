import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { TextDocument } from '@pith/word-ranker';
import { padding, type Padding, type PooledSkill } from './search-padding.ts';
import { generator, shuffled } from './search-statistics.ts';

/** What somebody wants, in a person's words and as a model would type it. */
export interface Need {
  readonly qid: string;
  readonly gold: string;
  readonly user: string;
  readonly keywords: string;
  /** Ids that do not count as wrong. */
  readonly also_right: readonly string[];
}

export interface ToolQuery {
  readonly query: string;
  readonly tool: string;
}

/** Skills to be searched, under the ids that they have as folders. */
export interface Pool {
  readonly label: string;
  readonly documents: readonly TextDocument[];
  /** From the pool's id to the folder's name. */
  readonly ids: ReadonlyMap<string, string>;
}

export const repository = process.env.PITH_REPOSITORY ?? '.';
const data = path.resolve(repository, '../shared/retrieval');

/** The folder that is missing; null when all is there. */
export function missingData(): string | null {
  return existsSync(path.join(data, 'pool-1000.jsonl')) ? null : data;
}

export const realSkills = () => shuffled(read<PooledSkill>('pool-1000.jsonl'), 7);
export const givenNeeds = () => read<Need>('needs.jsonl');
/** Needs of our own, as different people put them. Weights were chosen with a look at every second one; the others were kept from it. */
const furtherNeeds = () => jsonLines<Need>(path.join(repository, 'test/bench/data/needs.jsonl'));
export const tunedNeeds = () => furtherNeeds().filter((_, at) => at % 2 === 0);
export const heldNeeds = () => furtherNeeds().filter((_, at) => at % 2 === 1);
export const toolQueries = () => shuffled(read<ToolQuery>('metatool-queries.jsonl'), 11);
export const tools = () => read<{ readonly id: string; readonly description: string }>('metatool-tools.jsonl');

/** The needs' skills and others up to `size`, in no order; beyond the real ones, made-up ones that take nothing from what a need asks for. */
export function poolOf(skills: readonly PooledSkill[], needs: readonly Need[], size: number, kind: Padding = 'transplanted'): Pool {
  const wanted = new Set(needs.flatMap(({ gold, also_right }) => [gold, ...(size > 100 ? also_right : [])]));
  const others = skills.filter(({ id }) => !wanted.has(id));
  const kept = [...skills.filter(({ id }) => wanted.has(id)), ...others].slice(0, size);
  const all = shuffled([...kept, ...padding(others, size - kept.length, kind, generator(3))], 5);
  return named(size > skills.length ? `${size} ${kind}` : String(size), all);
}

/** The pool's ids are paths; a skill's id is its folder's name, with a number where several have the same. */
function named(label: string, skills: readonly PooledSkill[]): Pool {
  const used = new Map<string, number>();
  const ids = new Map<string, string>();
  for (const { id, name } of skills) {
    const count = (used.get(name) ?? 0) + 1;
    used.set(name, count);
    ids.set(id, count === 1 ? name : `${name}-${count}`);
  }
  return { label, ids, documents: skills.map((skill) => documentOf(skill, ids.get(skill.id)!)) };
}

export function documentOf({ name, description, tags, body }: Omit<PooledSkill, 'id'>, id: string): TextDocument {
  return { id, name, description, tags, examples: [], body };
}

function read<T>(file: string): T[] {
  return jsonLines(path.join(data, file));
}

function jsonLines<T>(file: string): T[] {
  return readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as T);
}
