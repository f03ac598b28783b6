import { type CommandIO, type ExtensionContext, z } from 'pith';
import { once } from '@pith/promises';

export const config = once(() =>
  z.strictObject({
    /** Addresses of private networks that `skills update` may fetch from. */
    private_origins: z.array(z.string().min(1)).default([]).meta({ by_hand: 'opens addresses that are not public' }),
  }),
);

/** What the commands of this extension use of the kernel, with its settings. */
export type InstallContext = ExtensionContext<z.output<ReturnType<typeof config>>>;

/** One run of such a command. */
export interface Running {
  readonly context: InstallContext;
  readonly io: CommandIO;
  readonly signal: AbortSignal;
}
