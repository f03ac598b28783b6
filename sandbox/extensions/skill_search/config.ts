import { z } from 'pith';
import { once } from '@pith/promises';

/** What of the settings block `skills:` this extension reads. */
export const configSchema = once(() =>
  z.strictObject({
    /** Whether a person's text for which a skill was loaded helps to find that skill again. Texts of people are personal: off until somebody wants it. */
    learn_examples: z.boolean().default(false).meta({ safeguard: true, narrowest: false }),
  }),
);

export type Config = z.output<ReturnType<typeof configSchema>>;
