import { z } from 'pith';
import { once } from '@pith/promises';

/** This extension's keys of the settings block `skills:`. */
export const configSchema = once(() =>
  z.strictObject({
    /** Whether a person's text for which a skill was loaded helps to find that skill again. Such texts are personal: off by default. */
    learn_examples: z.boolean().default(false).meta({ safeguard: true, narrowest: false }),
  }),
);

export type Config = z.output<ReturnType<typeof configSchema>>;
