import type { Declaration } from '../discovery/declaration.ts';
import type { HostParts } from '../host-parts.ts';
import { constructRemote } from '../process/remote-candidate.ts';
import type { Candidate, Tier } from './generation.ts';
import { constructInProcess } from './in-process.ts';

/** Where an extension runs. A manifest only asks: inside the kernel runs what came with Pith, and what a person's settings let in. */
export function tierOf({ options, bundles }: Pick<HostParts, 'options' | 'bundles'>, declaration: Declaration): Tier {
  if (declaration.toolset) return 'process';
  const { isolation = 'granted', configOf } = options;
  if (isolation !== 'granted') return isolation;
  const { isolation: said } = configOf(declaration);
  if (said !== null) return said;
  return declaration.manifest?.isolation === 'in_process' && bundles.isShipped(declaration) ? 'in_process' : 'process';
}

/** Bundles, imports, checks the configuration, constructs, checks `provides`. Rejects with a `Problem`; leaves nothing behind then. */
export function construct(parts: HostParts, declaration: Declaration, number: number): Promise<Candidate> {
  return MAKERS[tierOf(parts, declaration)](parts, declaration, number);
}

const MAKERS: Readonly<Record<Tier, (parts: HostParts, declaration: Declaration, number: number) => Promise<Candidate>>> = {
  in_process: constructInProcess,
  process: constructRemote,
};
