import path from 'node:path';
import { codeOf } from '../../contract/errors.ts';
import type { Bundle } from '../bundles/bundle-store.ts';
import type { Declaration } from '../discovery/declaration.ts';
import { concerns } from '../recipients.ts';
import type { HostParts } from '../host-parts.ts';
import type { Candidate } from '../lifecycle/generation.ts';
import { knownSurface } from '../lifecycle/known.ts';
import { PHASE_LIMIT_MS, runPhase } from '../lifecycle/phase-limit.ts';
import { buildOf } from '../package-version.ts';
import { Problem } from '../problem.ts';
import { openRemoteHost } from './remote-host.ts';
import { initializeRemote } from './remote-generation.ts';
import { placesOf, type Setup } from './setup.ts';

/** Bundles, and starts a process that imports, checks and constructs. Rejects with a `Problem`; no process is left then. */
export async function constructRemote(host: HostParts, declaration: Declaration, number: number): Promise<Candidate> {
  const { id, manifest, file } = declaration;
  if (!manifest) throw new Problem('validate', 'manifest_invalid', `the manifest of '${id}' is broken`, { file });
  const { entrypoint } = manifest;
  if (entrypoint === undefined) throw new Problem('import', 'entrypoint_missing', `'${id}' has no entrypoint`, { file });
  const slow = (message: string): void => host.note(id, 'phase_slow', message);
  const bundle = await runPhase({ phase: 'import', clock: host.clock, limitMs: PHASE_LIMIT_MS, failed: 'import_failed', slow }, () =>
    host.bundles.bundle(declaration, entrypoint),
  );
  return constructBundle(host, declaration, number, bundle);
}

/** For what has been bundled before. */
export async function constructBundle(host: HostParts, declaration: Declaration, number: number, bundle: Bundle): Promise<Candidate> {
  const remote = await openRemoteHost(host, declaration, processEntry(host.options.packageRoot));
  try {
    await remote.phase('import', 'import_failed', PHASE_LIMIT_MS, 'host.import', [setupOf(host, declaration, number, bundle)]);
  } catch (error) {
    // A package that moved since the bundle was made is found again by making it anew.
    if (error instanceof Problem && codeOf(error.cause, '') === 'ERR_MODULE_NOT_FOUND') await host.bundles.forget(bundle);
    throw error;
  }
  await remote.phase('construct', 'construct_failed', PHASE_LIMIT_MS, 'host.construct');
  return {
    number,
    declaration,
    shipped: bundle.shipped,
    tier: 'process',
    initialize: () =>
      initializeRemote(host, remote, {
        number,
        declaration,
        shipped: bundle.shipped,
        again: (next) => constructBundle(host, declaration, next, bundle),
      }),
  };
}

/** What the process runs: made by the build. */
export function processEntry(packageRoot: string): string {
  return path.join(buildOf(packageRoot), 'process.js');
}

export function setupOf(host: HostParts, declaration: Declaration, number: number, bundle: Bundle): Setup {
  const { sandbox, home, dataDirectory, packageRoot, configOf } = host.options;
  const effective = configOf(declaration);
  const { where: _, ...config } = effective;
  return {
    declaration,
    number,
    bundle,
    options: { sandbox, home, dataDirectory, packageRoot },
    config,
    places: placesOf(effective),
    secrets: Object.fromEntries(
      effective.secrets.flatMap((name) => {
        const shared = host.secrets.share(name, (recipient) => concerns(recipient, declaration, bundle.shipped));
        return shared === null ? [] : [[name, shared]];
      }),
    ),
    ...(bundle.shipped ? { known: knownSurface(host, declaration) } : {}),
    providers: host.providersFor(declaration),
  };
}
