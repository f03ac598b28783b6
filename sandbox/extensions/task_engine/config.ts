import { z } from 'pith';

/** Made when it is asked for, so that importing this file builds no schema. */
export function configSchema() {
  return z.strictObject({
    /** How many tasks are worked on at once, in all processes of the sandbox together. */
    max_concurrent: z.int().min(1).max(64).default(4),
    /** How many tasks may be unfinished; more are refused. */
    max_open: z.int().min(1).max(100_000).default(1000),
  });
}

export type Config = z.infer<ReturnType<typeof configSchema>>;
