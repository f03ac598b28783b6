import { type ExtensionContext, z } from 'pith';
import { jsonOf } from '@pith/plain-data';
import { once } from '@pith/promises';
import type { Task } from '../cases/case.ts';

type Database = ExtensionContext['database'];

/** A skill as runs see it: the digest of its files without its cases; or `none`, where they do without it. */
export type Side = string;
export const WITHOUT: Side = 'none';

/** What a result holds for: this case, this skill, and who worked. */
export interface RunKey {
  readonly task: Task['key'];
  readonly side: Side;
  readonly model: string;
  readonly agent: string;
  /** From 1. */
  readonly repetition: number;
}

const resultSchema = once(() =>
  z.object({
    passed: z.boolean(),
    /** The skill was loaded, at any point of the run. */
    loaded: z.boolean(),
    /** Why it did not pass, without what a judge said. */
    reasons: z.array(z.string()),
    /** What the judge said of each expectation; for a person only. */
    judged: z.array(z.string()),
    inputTokens: z.number(),
    outputTokens: z.number(),
    milliseconds: z.number(),
  }),
);

export type RunResult = z.output<ReturnType<typeof resultSchema>>;

const SCHEMA = `CREATE TABLE IF NOT EXISTS skill_evals__runs (
  task TEXT NOT NULL, side TEXT NOT NULL, model TEXT NOT NULL, agent TEXT NOT NULL, repetition INTEGER NOT NULL,
  at INTEGER NOT NULL, result TEXT NOT NULL, PRIMARY KEY (task, side, model, agent, repetition)
)`;

/** Keeps what runs have shown, so that a run that was paid for is not repeated. */
export class RunStore {
  constructor(private readonly database: Database) {}

  async keep({ task, side, model, agent, repetition }: RunKey, result: RunResult, now: number): Promise<void> {
    const values = [task, side, model, agent, repetition, now, JSON.stringify(result)];
    const sql = 'INSERT OR REPLACE INTO skill_evals__runs VALUES (?, ?, ?, ?, ?, ?, ?)';
    await this.database.write([{ sql: SCHEMA }, { sql, values }]);
  }

  /** The results of one case on one side, by their repetition. */
  async of({ task, side, model, agent }: Omit<RunKey, 'repetition'>, repeats: number): Promise<ReadonlyMap<number, RunResult>> {
    if (!(await this.#isThere())) return new Map();
    const rows = await this.database.all(
      'SELECT repetition, result FROM skill_evals__runs WHERE task = ? AND side = ? AND model = ? AND agent = ? AND repetition <= ?',
      task,
      side,
      model,
      agent,
      repeats,
    );
    return new Map(
      rows.flatMap(({ repetition, result }) => {
        const { data } = resultSchema().safeParse(jsonOf(String(result)));
        return data === undefined ? [] : [[Number(repetition), data] as const];
      }),
    );
  }

  /** Who worked on a side last: its results are the newest. null: it was never run. */
  async latest(side: Side, tasks: readonly Pick<Task, 'key'>[]): Promise<Pick<RunKey, 'model' | 'agent'> | null> {
    if (tasks.length === 0 || !(await this.#isThere())) return null;
    const row = await this.database.get(
      'SELECT model, agent FROM skill_evals__runs WHERE side = ? AND task IN (SELECT value FROM json_each(?)) ORDER BY at DESC LIMIT 1',
      side,
      JSON.stringify(tasks.map(({ key }) => key)),
    );
    return row === null ? null : { model: String(row['model']), agent: String(row['agent']) };
  }

  /** Tokens of a run, on average over the last hundred. null: nothing was run. */
  async meanTokens(): Promise<number | null> {
    if (!(await this.#isThere())) return null;
    const rows = await this.database.all('SELECT result FROM skill_evals__runs ORDER BY at DESC LIMIT 100');
    const results = rows.flatMap(({ result }) => resultSchema().safeParse(jsonOf(String(result))).data ?? []);
    if (results.length === 0) return null;
    return Math.round(results.reduce((sum, one) => sum + one.inputTokens + one.outputTokens, 0) / results.length);
  }

  async #isThere(): Promise<boolean> {
    return (await this.database.get("SELECT 1 AS found FROM sqlite_master WHERE name = 'skill_evals__runs'")) !== null;
  }
}
