import { z } from 'pith';

export const config = z.strictObject({
  /** Whether making a new skill waits for a person. `auto` accepts it as it is written. */
  new_skills: z.enum(['ask', 'auto']).default('ask'),
});

export type Config = z.infer<typeof config>;
