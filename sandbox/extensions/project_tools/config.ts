import { z } from 'pith';

const shell = z.strictObject({
  /** The time limit of a command in seconds, unless the agent names another. */
  timeout_seconds: z.int().min(1).max(3600).default(120),
  /** The memory of a command and all that it starts, in MiB. */
  memory_mb: z.int().min(64).default(4096),
  /** The largest file that a command may write, and the size of its temporary folder, in MiB. */
  file_mb: z.int().min(1).default(1024),
  /** Folders of your home folder that a command can read when it requests `home`, such as `datasets`. */
  home: z
    .array(z.string().regex(/^(?:~\/)?(?!\.{0,2}(?:\/|$))[^\0]+$/u, 'the path of a folder below your home folder, such as datasets'))
    .default([])
    .meta({ by_hand: 'opens folders of your home to commands' }),
  /** How many file names are checked for possible secrets before a command runs. Folders beyond that are hidden from it. */
  files_checked: z.int().min(100).default(1_000_000),
  /** Ask also about commands that can only read. Without a sandbox they are always asked about. */
  ask_for_reading: z.boolean().default(false),
});

export const config = z.strictObject({ shell: shell.default(shell.parse({})) });

export type Config = z.infer<typeof config>;
