import { z } from 'pith';
import { once } from '@pith/promises';

/** Its settings in the block `skills:`. */
export const configSchema = once(() =>
  z.strictObject({
    /** The most bodies with one message, for agents that set no number. */
    max_skills: z.int().min(1).default(3),
  }),
);

export type TriggersConfig = z.output<ReturnType<typeof configSchema>>;

/** The key `triggers` under `agent:`. */
export const agentKeySchema = once(() =>
  z.strictObject({
    /** The most bodies with one message; absent: the setting `skills.max_skills`. */
    max_skills: z.int().min(1).optional(),
  }),
);
