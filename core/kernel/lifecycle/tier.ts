import type { HostParts } from '../host-parts.ts';
import { Problem } from '../problem.ts';
import { checkConfig } from './config-check.ts';
import { tierOf, type Candidate, type ProcessTier, type Version } from './generation.ts';
import { constructInProcess, importInProcess } from './in-process.ts';

/** Bundles, imports, checks the configuration, constructs, checks `provides`. Rejects with a `Problem`; leaves nothing behind then. */
export async function construct(parts: HostParts, version: Version, number: number): Promise<Candidate> {
  if (tierOf(parts, version.declaration) === 'in_process') return constructInProcess(parts, version, number);
  return processTier(parts, version).construct(version, number);
}

/** Holds the settings against the schema of the class; constructs nothing. Rejects with a `Problem`. */
export async function checkSettings(parts: HostParts, version: Version, number: number): Promise<void> {
  const { declaration, config } = version;
  if (tierOf(parts, declaration) === 'process') return processTier(parts, version).checkSettings(version, number);
  const { Class } = await importInProcess(parts, declaration, number);
  checkConfig(Class.config, config, declaration.file);
}

/** Throws a `Problem` where this kernel has none. */
export function processTier({ processes }: Pick<HostParts, 'processes'>, { declaration }: Version): ProcessTier {
  const tier = processes();
  if (tier) return tier;
  throw new Problem('import', 'import_failed', `'${declaration.id}' runs in a separate process, and this kernel starts none`, {
    file: declaration.file,
  });
}
