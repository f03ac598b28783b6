import { z } from 'pith';
import { once } from '@pith/promises';

export const configSchema = once(() =>
  z.strictObject({
    /** How often each task is run a side. */
    repeats: z.int().min(1).max(20).default(3),
    /** More runs than this need a confirmation. */
    ask_above: z.int().min(0).default(60),
    /** One command runs no more than this. */
    max_runs: z.int().min(1).default(600),
    /** One command stops before a run once its runs have used so many tokens. */
    max_tokens: z.int().min(1).default(2_000_000),
    /** Minutes that one run may take. */
    run_minutes: z.number().min(0.1).max(120).default(10),
    /** What a run may do without a person, beside what no tool asks about, as `pith chat --allow` takes it: in the files of its own project. */
    allow: z
      .array(z.string().regex(/^[^\s:]+:.+$/u, 'must be as for pith chat --allow'))
      .default(['edit_file:.', 'write_file:.', 'apply_patch:.'])
      .meta({ by_hand: 'says what runs without a question' }),
  }),
);

export type Config = z.output<ReturnType<typeof configSchema>>;
