import { z } from 'pith';

export const config = z.strictObject({
  /** Whether a new skill waits for a person. `auto` accepts it as written. */
  new_skills: z.enum(['ask', 'auto']).default('ask'),
});

export type Config = z.infer<typeof config>;
