import { z } from 'pith';

export const config = z.strictObject({
  /** Has no effect: `skills.new_skills` decides. Accepted, so that settings of before still load. */
  new_skills: z.enum(['ask', 'auto']).optional(),
});

export type Config = z.infer<typeof config>;
