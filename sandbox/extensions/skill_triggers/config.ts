import { z } from 'pith';
import { once } from '@pith/promises';

/** What it claims of the block `skills:`. */
export const configSchema = once(() =>
  z.strictObject({
    /** Bodies that one message may bring, for agents that say nothing else. */
    max_skills: z.int().min(1).default(3),
  }),
);

export type TriggersConfig = z.output<ReturnType<typeof configSchema>>;

/** The key `triggers` under `agent:`. */
export const agentKeySchema = once(() =>
  z.strictObject({
    /** Bodies that one message may bring; absent: the setting `skills.max_skills`. */
    max_skills: z.int().min(1).optional(),
  }),
);
