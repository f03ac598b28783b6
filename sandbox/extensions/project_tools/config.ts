import { z } from 'pith';

const shell = z.strictObject({
  /** Seconds that a command may take when the agent names no other time. */
  timeout_seconds: z.int().min(1).max(3600).default(120),
  /** Memory that a command and all that it starts may use, in MiB. */
  memory_mb: z.int().min(64).default(4096),
  /** The largest file that a command may write, and the size of its temporary folder, in MiB. */
  file_mb: z.int().min(1).default(1024),
  /** Folders of your home folder that a command reads when it asks for `home`, such as `datasets`. */
  home: z
    .array(z.string().regex(/^(?:~\/)?(?!\.{0,2}(?:\/|$))[^\0]+$/u, 'the path of a folder below your home folder, such as datasets'))
    .default([]),
});

export const config = z.strictObject({ shell: shell.default(shell.parse({})) });

export type Config = z.infer<typeof config>;
