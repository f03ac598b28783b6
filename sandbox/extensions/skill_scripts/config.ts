import { z } from 'pith';
import { once } from '@pith/promises';

const ENVIRONMENT_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** What it claims of the block `skills:`. */
export const configSchema = once(() =>
  z.strictObject({
    /** False: nothing of a skill runs. */
    enabled: z.boolean().default(true).meta({ safeguard: true, narrowest: false }),
    scripts: z
      .strictObject({
        timeout_s: z.number().positive().default(60),
        max_output_bytes: z.int().min(1).default(1_048_576),
        max_args: z.int().min(0).default(100),
        max_arg_bytes: z.int().min(0).default(4096),
        /** `none`: a person wants scripts run as themselves. */
        sandbox: z.enum(['bubblewrap', 'none']).default('bubblewrap').meta({ by_hand: 'says what confines scripts of skills' }),
        approval: z.enum(['ask', 'never']).default('ask').meta({ by_hand: 'says whether scripts of skills run without a question' }),
        /** Names of the environment that scripts may have, where their skill asks for them. */
        env: z
          .array(z.string().regex(ENVIRONMENT_NAME, 'must be a name of letters, digits and _'))
          .default([])
          .meta({ by_hand: 'says which variables scripts of skills get' }),
      })
      .prefault({}),
  }),
);

export type ScriptsConfig = z.output<ReturnType<typeof configSchema>>;
