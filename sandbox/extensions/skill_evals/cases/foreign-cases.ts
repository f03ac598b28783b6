import { PithError, z } from 'pith';
import { once } from '@pith/promises';
import { printableLine } from '@pith/plain-text';
import { type Expectation, type Task, type Trigger, triggerOf } from './case.ts';

/** Cases as other tools write them. What they have besides is left to these. */
export const TASKS = 'evals/evals.json';
export const QUERIES = ['evals/eval_queries.json', 'eval_queries.json'] as const;

/** A task whose files are not read yet: their paths as given. */
export interface ForeignTask extends Pick<Task, 'prompt' | 'expect'> {
  readonly files: readonly string[];
}

const text = once(() => z.string().regex(/\S/));
/** An expectation is a sentence, or an object around one. */
const sentence = once(() =>
  z.union([
    text(),
    z.looseObject({ text: text() }).transform((one) => one.text),
    z.looseObject({ expectation: text() }).transform((one) => one.expectation),
    z.looseObject({ assertion: text() }).transform((one) => one.assertion),
    z.looseObject({ description: text() }).transform((one) => one.description),
  ]),
);
const tasksSchema = once(() =>
  listOf(
    'evals',
    z.looseObject({
      prompt: text(),
      expected_output: z.string().nullish(),
      files: z.array(z.string()).nullish(),
      expectations: z.array(sentence()).nullish(),
      assertions: z.array(sentence()).nullish(),
    }),
  ),
);
const queriesSchema = once(() => listOf('queries', z.looseObject({ query: text(), should_trigger: z.boolean() })));

/** A list, or an object that has it under a key. */
function listOf<T extends z.ZodType>(key: string, one: T) {
  return z.union([z.array(one), z.looseObject({ [key]: z.array(one) }).transform((found) => found[key] as z.output<T>[])]);
}

/** What each sentence says is judged. Without any the expected output is. */
export function tasksIn(value: unknown, file: string): readonly ForeignTask[] {
  return read(tasksSchema(), value, file, 'evals').map(({ prompt, expected_output: output, files, expectations, assertions }) => {
    const sentences = [...(expectations ?? []), ...(assertions ?? [])];
    const expect: readonly Expectation[] =
      sentences.length > 0
        ? sentences.map((judge) => ({ judge }))
        : output?.trim()
          ? [{ judge: `The result is as expected: ${output}` }]
          : [];
    return { prompt, files: files ?? [], expect };
  });
}

export function queriesIn(value: unknown, file: string): readonly Trigger[] {
  const queries = read(queriesSchema(), value, file, 'queries');
  return queries.map(({ query, should_trigger: should }) => triggerOf(query, should ? 'load' : 'not_load'));
}

/** Throws `evals_invalid`. */
export function jsonValue(json: string, file: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const [, at] = /position (\d+)/.exec(why) ?? [];
    const before = json.slice(0, Number(at ?? 0)).split('\n');
    const place = at === undefined ? '' : `:${before.length}:${before.at(-1)!.length + 1}`; // engines do not always say it
    throw invalid(`is not valid JSON: ${printableLine(why, 200)}`, `${file}${place}`, 'correct the syntax');
  }
}

function read<T>(schema: z.ZodType<T[]>, value: unknown, file: string, key: string): readonly T[] {
  const { data, error } = schema.safeParse(value);
  if (data !== undefined) return data;
  const list = Array.isArray(value) ? value : (value as Readonly<Record<string, unknown>> | null)?.[key];
  if (!Array.isArray(list)) throw invalid(`must be a list, or an object with '${key}'`, file, 'correct the file');
  const at = list.findIndex((one) => !schema.safeParse([one]).success);
  const issues = schema.safeParse([list[at]]).error?.issues ?? error?.issues ?? [];
  throw invalid(`case ${at + 1} cannot be read: ${reasonOf(issues)}`, file, 'correct that case');
}

function reasonOf(issues: readonly z.core.$ZodIssue[]): string {
  const [issue] = issues;
  if (issue?.code === 'invalid_union') return reasonOf(issue.errors[0] ?? []);
  if (issue === undefined) return 'it has another form';
  const name = String(issue.path.filter((part) => typeof part === 'string').at(-1) ?? 'it');
  return `'${name}' is missing or has another form`;
}

function invalid(why: string, where: string, cure: string): PithError {
  return new PithError('evals_invalid', why, { where, cure });
}
