import type { HostParts } from '../host-parts.ts';
import type { Declaration } from '../discovery/declaration.ts';
import type { Tier } from './generation.ts';

/** Where an extension runs. A manifest only asks: inside the kernel runs what came with Pith, and what a person's settings let in. */
export function tierOf({ options, bundles }: Pick<HostParts, 'options' | 'bundles'>, declaration: Declaration): Tier {
  if (declaration.toolset) return 'process';
  const { isolation = 'granted', configOf } = options;
  if (isolation !== 'granted') return isolation;
  const { isolation: said } = configOf(declaration);
  if (said !== null) return said;
  return declaration.manifest?.isolation === 'in_process' && bundles.isShipped(declaration) ? 'in_process' : 'process';
}

/** Whether nobody answers for its code as for the kernel's own: it did not come with Pith, and no person let it into the kernel. */
export function isForeign(parts: Pick<HostParts, 'options' | 'bundles'>, declaration: Declaration): boolean {
  return tierOf(parts, declaration) === 'process' && !parts.bundles.isShipped(declaration);
}
