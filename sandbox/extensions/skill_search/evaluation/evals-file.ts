import { existsSync } from 'node:fs';
import path from 'node:path';
import { PithError, type Remote } from 'pith';
import type { SkillLibrary, SkillRecord } from 'pith/skill_registry';
import { didYouMean } from '@pith/plain-text';
import { guardedYaml } from '@pith/guarded-yaml';
import { isMap, isScalar, isSeq } from 'yaml';
import type { EvalCase } from './evaluate.ts';

export interface Evals {
  readonly cases: readonly EvalCase[];
  /** The number of `tasks`, which need a model. */
  readonly tasks: number;
}

const MOST_BYTES = 256 * 1024;
const KEYS = ['triggers', 'tasks'];
const TRIGGER_KEYS = ['text', 'should'];

/** The content of a skill's `evals/evals.yaml`; null where there is none. Rejects `evals_invalid` with file, line and column. */
export async function readEvals({ id, realDirectory }: SkillRecord, library: Remote<SkillLibrary>): Promise<Evals | null> {
  const bytes = await library.readFile(id, 'evals/evals.yaml', MOST_BYTES);
  const file = path.join(realDirectory, 'evals/evals.yaml');
  if (bytes !== null) return parseEvals(id, Buffer.from(bytes).toString(), file);
  if (!existsSync(file)) return null;
  const why = `it is not a file of at most ${MOST_BYTES} bytes in a trusted skill`;
  throw new PithError('evals_invalid', why, { where: file, cure: 'correct it or remove it' });
}

/** The same for the text of `file`. */
function parseEvals(skillId: string, text: string, file: string): Evals {
  const { document, refused, lines } = guardedYaml(text);
  const wrong = (offset: number, why: string): PithError => {
    const { line, col } = lines.linePos(offset);
    return new PithError('evals_invalid', why, { where: `${file}:${line}:${col}`, cure: 'see docs/search.md' });
  };
  const offsetOf = (node: unknown): number => (node as { readonly range?: readonly number[] } | null)?.range?.[0] ?? 0;
  if (refused !== null) throw wrong(refused.offset, `it has ${refused.excess}`);
  const [error] = document.errors;
  if (error !== undefined) throw wrong(error.pos[0], `no YAML: ${error.message}`);
  const root = document.contents;
  if (root === null) return { cases: [], tasks: 0 };
  if (!isMap(root)) throw wrong(0, "it must have 'triggers' or 'tasks'");
  const cases: EvalCase[] = [];
  let tasks = 0;
  for (const { key, value } of root.items) {
    const name = isScalar(key) ? String(key.value) : '';
    if (!KEYS.includes(name)) throw wrong(offsetOf(key), `unknown key '${name}'${didYouMean(name, KEYS)}`);
    if (value === null || (isScalar(value) && value.value === null)) continue;
    if (!isSeq(value)) throw wrong(offsetOf(value), `'${name}' must be a list`);
    if (name === 'tasks') tasks = value.items.length;
    else for (const item of value.items) cases.push(caseOf(item));
  }
  return { cases, tasks };

  function caseOf(item: unknown): EvalCase {
    if (!isMap(item)) throw wrong(offsetOf(item), "an item of 'triggers' must have 'text' and 'should'");
    for (const { key } of item.items) {
      const name = isScalar(key) ? String(key.value) : '';
      if (!TRIGGER_KEYS.includes(name)) throw wrong(offsetOf(key), `unknown key '${name}'${didYouMean(name, TRIGGER_KEYS)}`);
    }
    const [given, should] = [item.get('text', true), item.get('should', true)];
    if (!isScalar(given) || typeof given.value !== 'string' || given.value.trim() === '')
      throw wrong(offsetOf(given ?? item), "'text' must be what a person says");
    if (!isScalar(should) || (should.value !== 'load' && should.value !== 'not_load'))
      throw wrong(offsetOf(should ?? item), "'should' must be load or not_load");
    return { skillId, text: given.value, should: should.value, from: 'evals' };
  }
}
