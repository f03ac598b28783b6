import { z } from 'pith';

/** Made when it is asked for, so that importing this file builds no schema. */
export function configSchema() {
  return z.strictObject({
    /** Dollars for a million tokens, by `provider/model`. A model without a price has no cost. */
    prices: z.record(z.string(), z.strictObject({ input: z.number().min(0), output: z.number().min(0) })).default({}),
  });
}
