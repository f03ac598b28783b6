import { existsSync } from 'node:fs';
import path from 'node:path';
import { PithError, z } from 'pith';
import { issuesToDiagnostics, parseYaml } from '@pith/checked-yaml';
import { once } from '@pith/promises';
import { componentsOf, loadPatternCompiler, resourceBytes } from '@pith/skill-files';
import { type Expectation, type SkillCases, type Split, type Task, type TaskFile, taskOf, triggerOf } from './case.ts';
import { type ForeignTask, jsonValue, QUERIES, queriesIn, TASKS, tasksIn } from './foreign-cases.ts';

/** The folder of a skill with its cases: no tool of an agent shows what is in it. */
export const EVALS = 'evals';
const YAML = `${EVALS}/evals.yaml`;
const MOST_BYTES = 256 * 1024;
const MOST_FILE_BYTES = 4 * 1024 * 1024;

/** The cases in a skill's folder; null where it has none. Rejects `evals_invalid` with file, line and column. */
export async function readCases(directory: string): Promise<SkillCases | null> {
  const own = await textOf(directory, YAML);
  const tasks = await textOf(directory, TASKS);
  const queries = await Promise.all(QUERIES.map(async (file) => ({ file, text: await textOf(directory, file) })));
  if (own === null && tasks === null && queries.every(({ text }) => text === null)) return null;
  const parts = [
    own === null ? NONE : await ownCases(directory, own),
    tasks === null ? NONE : await foreignTasks(directory, tasks),
    ...queries.map(({ file, text }) =>
      text === null ? NONE : { ...NONE, triggers: queriesIn(jsonValue(text, path.join(directory, file)), path.join(directory, file)) },
    ),
  ];
  return { triggers: distinct(parts.flatMap(({ triggers }) => triggers)), tasks: distinct(parts.flatMap((part) => part.tasks)) };
}

const NONE: SkillCases = { triggers: [], tasks: [] };

function distinct<T extends { readonly key: string }>(cases: readonly T[]): readonly T[] {
  return [...new Map(cases.map((one) => [one.key, one])).values()];
}

const evalsSchema = once(() => {
  const text = z.string().regex(/\S/, 'must be what a person says');
  const split = z.enum(['train', 'held_out']).optional();
  const trigger = z.strictObject({ text, should: z.enum(['load', 'not_load']), split });
  const some = z.string().min(1);
  const expectation = z
    .strictObject({ contains: some.optional(), regex: some.optional(), tool_called: some.optional(), judge: some.optional() })
    .refine((one) => Object.keys(one).length === 1, 'must have exactly one of contains, regex, tool_called and judge');
  const task = z.strictObject({ prompt: text, files: z.array(some).nullish(), expect: z.array(expectation).nullish(), split });
  return z.strictObject({ triggers: z.array(trigger).nullish(), tasks: z.array(task).nullish() });
});

async function ownCases(directory: string, text: string): Promise<SkillCases> {
  const file = path.join(directory, YAML);
  const source = { file, code: 'evals_invalid' };
  const { value, positions, diagnostics } = await parseYaml(text, { ...source, maxBytes: MOST_BYTES });
  const read = evalsSchema().safeParse(value ?? {});
  const found = [...diagnostics, ...issuesToDiagnostics(read.error?.issues ?? [], evalsSchema(), { ...source, positions, value })];
  const wrong = found.find(({ code }) => code === 'unknown_key') ?? found[0]; // a slip in a key is why another is missing
  if (wrong !== undefined) throw invalid(wrong.message, `${file}:${wrong.line}:${wrong.column}`, wrong.cure);
  const { triggers, tasks } = read.data!;
  const placed = (index: number, key: string): string => {
    const [line, column] = positions[`tasks.${index}.${key}`] ?? positions[`tasks.${index}`] ?? [1, 1];
    return `${file}:${line}:${column}`;
  };
  const compile = await loadPatternCompiler();
  const made: Task[] = [];
  for (const [index, { prompt, files, expect, split }] of (tasks ?? []).entries()) {
    for (const [at, one] of (expect ?? []).entries()) {
      const pattern = one.regex === undefined ? null : compile(one.regex);
      if (pattern !== null && 'problem' in pattern)
        throw invalid(
          `the pattern cannot be used: ${pattern.problem}`,
          placed(index, `expect.${at}.regex`),
          'correct the regular expression',
        );
    }
    made.push(
      await taskWith(
        directory,
        { prompt, files: files ?? [], expect: (expect ?? []) as readonly Expectation[], split },
        placed(index, 'files'),
      ),
    );
  }
  return { triggers: (triggers ?? []).map(({ text: said, should, split }) => triggerOf(said, should, split)), tasks: made };
}

async function foreignTasks(directory: string, text: string): Promise<SkillCases> {
  const file = path.join(directory, TASKS);
  const tasks: Task[] = [];
  for (const one of tasksIn(jsonValue(text, file), file)) tasks.push(await taskWith(directory, one, file));
  return { ...NONE, tasks };
}

async function taskWith(
  directory: string,
  { prompt, files, expect, split }: ForeignTask & { readonly split?: Split | undefined },
  where: string,
): Promise<Task> {
  const read: TaskFile[] = [];
  for (const given of files) {
    const found = await fileIn(directory, given);
    if (found === null)
      throw invalid(
        `there is no file '${given}' of at most ${MOST_FILE_BYTES} bytes in the skill`,
        where,
        `add it, beside ${EVALS}/evals.yaml`,
      );
    read.push(found);
  }
  return taskOf(prompt, read, expect, split);
}

/** Named from the skill's folder or from `evals/`. In the run it has the rest of its path, without `evals/` and `files/`. */
async function fileIn(directory: string, given: string): Promise<TaskFile | null> {
  const parts = componentsOf(given);
  if (parts === null) return null;
  for (const candidate of [parts.join('/'), [EVALS, ...parts].join('/')]) {
    const read = await resourceBytes(directory, candidate, MOST_FILE_BYTES);
    if (read.kind !== 'bytes') continue;
    const rest = read.path.replace(/^evals\//, '').replace(/^files\//, '');
    return { path: rest, bytes: read.bytes };
  }
  return null;
}

/** null: it is not there. */
async function textOf(directory: string, name: string): Promise<string | null> {
  const read = await resourceBytes(directory, name, MOST_BYTES);
  const file = path.join(directory, name);
  if (read.kind === 'bytes' && read.path === name) return new TextDecoder().decode(read.bytes);
  if (!existsSync(file)) return null;
  throw invalid(`it is not a file of at most ${MOST_BYTES} bytes`, file, 'correct it or remove it');
}

function invalid(why: string, where: string, cure = 'see docs/write-a-skill.md'): PithError {
  return new PithError('evals_invalid', why, { where, cure });
}
