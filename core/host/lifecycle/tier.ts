import type { Declaration } from '../discovery/declaration.ts';
import type { HostParts } from '../host-parts.ts';
import { constructRemote } from '../process/remote-candidate.ts';
import type { Candidate, Tier } from './generation.ts';
import { constructInProcess } from './in-process.ts';
import { tierOf } from './tier-of.ts';

/** Bundles, imports, checks the configuration, constructs, checks `provides`. Rejects with a `Problem`; leaves nothing behind then. */
export function construct(parts: HostParts, declaration: Declaration, number: number): Promise<Candidate> {
  return MAKERS[tierOf(parts, declaration)](parts, declaration, number);
}

const MAKERS: Readonly<Record<Tier, (parts: HostParts, declaration: Declaration, number: number) => Promise<Candidate>>> = {
  in_process: constructInProcess,
  process: constructRemote,
};
