import { existsSync } from 'node:fs';
import path from 'node:path';
import { PithError, type Remote, z } from 'pith';
import type { SkillLibrary, SkillRecord } from 'pith/skill_registry';
import { issuesToDiagnostics, parseYaml } from '@pith/checked-yaml';
import { once } from '@pith/promises';
import { type EvalCase } from './evaluate.ts';

export interface Evals {
  readonly cases: readonly EvalCase[];
  /** The number of `tasks`, which need a model. */
  readonly tasks: number;
}

const MOST_BYTES = 256 * 1024;

const evalsSchema = once(() => {
  const text = z.string().regex(/\S/, 'must be what a person says');
  const trigger = z.strictObject({ text, should: z.enum(['load', 'not_load']) });
  return z.strictObject({ triggers: z.array(trigger).nullish(), tasks: z.array(z.unknown()).nullish() });
});

/** The content of a skill's `evals/evals.yaml`; null where there is none. Rejects `evals_invalid` with file, line and column. */
export async function readEvals({ id, realDirectory }: SkillRecord, library: Remote<SkillLibrary>): Promise<Evals | null> {
  const bytes = await library.readFile(id, 'evals/evals.yaml', MOST_BYTES);
  const file = path.join(realDirectory, 'evals/evals.yaml');
  if (bytes === null) {
    if (!existsSync(file)) return null;
    const why = `it is not a file of at most ${MOST_BYTES} bytes in a trusted skill`;
    throw new PithError('evals_invalid', why, { where: file, cure: 'correct it or remove it' });
  }
  const source = { file, code: 'evals_invalid' };
  const { value, positions, diagnostics } = await parseYaml(Buffer.from(bytes).toString(), { ...source, maxBytes: MOST_BYTES });
  const read = evalsSchema().safeParse(value ?? {});
  const found = [...diagnostics, ...issuesToDiagnostics(read.error?.issues ?? [], evalsSchema(), { ...source, positions, value })];
  const wrong = found.find(({ code }) => code === 'unknown_key') ?? found[0]; // a slip in a key is why another is missing
  if (wrong !== undefined) {
    const { message, line, column, cure = 'see docs/search.md' } = wrong;
    throw new PithError('evals_invalid', message, { where: `${file}:${line}:${column}`, cure });
  }
  const { triggers, tasks } = read.data!;
  return { cases: (triggers ?? []).map((one) => ({ ...one, skillId: id, from: 'evals' })), tasks: tasks?.length ?? 0 };
}
