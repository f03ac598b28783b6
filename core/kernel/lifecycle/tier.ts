import type { HostParts } from '../host-parts.ts';
import { checkRemote, constructRemote } from '../../process/remote-candidate.ts';
import { tierOf, type Candidate, type Tier, type Version } from './generation.ts';
import { checkConfig } from './config-check.ts';
import { constructInProcess, importInProcess } from './in-process.ts';

/** Bundles, imports, checks the configuration, constructs, checks `provides`. Rejects with a `Problem`; leaves nothing behind then. */
export function construct(parts: HostParts, version: Version, number: number): Promise<Candidate> {
  return MAKERS[tierOf(parts, version.declaration)](parts, version, number);
}

/** Holds the settings against the schema of the class; constructs nothing. Rejects with a `Problem`. */
export async function checkSettings(parts: HostParts, version: Version, number: number): Promise<void> {
  const { declaration, config } = version;
  if (tierOf(parts, declaration) === 'process') return checkRemote(parts, version, number);
  const { Class } = await importInProcess(parts, declaration, number);
  checkConfig(Class.config, config, declaration.file);
}

const MAKERS: Readonly<Record<Tier, (parts: HostParts, version: Version, number: number) => Promise<Candidate>>> = {
  in_process: constructInProcess,
  process: constructRemote,
};
