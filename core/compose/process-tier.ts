import { endOrphans } from '@pith/held-process';
import { oncePromised } from '@pith/promises';
import type { ProcessTier, TierKernel } from '../kernel/index.ts';
import type { ProcessOptions } from '../process/index.ts';

/** The tier of processes, whose code is loaded when the first extension needs one: most starts need none. */
export function processTier(kernel: TierKernel, options: ProcessOptions): ProcessTier {
  const tier = oncePromised(async () => (await import('../process/index.ts')).createProcessTier(kernel, options));
  return {
    construct: async (version, number) => (await tier()).construct(version, number),
    checkSettings: async (version, number) => (await tier()).checkSettings(version, number),
    openEntry: async (version, entry) => (await tier()).openEntry(version, entry),
    confinement: options.sandboxing,
    endOrphans: () => endOrphans(kernel.runtime.places.dataDirectory),
  };
}
