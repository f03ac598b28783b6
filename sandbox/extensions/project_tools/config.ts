import { z } from 'pith';

const shell = z.strictObject({
  /** Seconds that a command may take when the agent names no other time. */
  timeout_seconds: z.int().min(1).max(3600).default(120),
  /** Memory that a command and all that it starts may use, in MiB. */
  memory_mb: z.int().min(64).default(4096),
  /** The largest file that a command may write, and the size of its temporary folder, in MiB. */
  file_mb: z.int().min(1).default(1024),
});

export const config = z.strictObject({ shell: shell.default(shell.parse({})) });

export type Config = z.infer<typeof config>;
