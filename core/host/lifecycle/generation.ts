import type { Extension, Phase } from '../../contract/index.ts';
import { Calls } from '../calls/calls.ts';
import { checkConfig } from './config-check.ts';
import { knownConfig, knownSurface } from './known.ts';
import type { Declaration } from '../discovery/declaration.ts';
import { createExtensionContext } from './extension-context.ts';
import type { HostParts } from '../host-parts.ts';
import { importClass, type ExtensionClass } from './import-class.ts';
import { PHASE_LIMIT_MS, runPhase, STOP_LIMIT_MS } from './phase-limit.ts';
import { Problem, problemOf } from '../problem.ts';
import { checkProvides } from './provides-check.ts';
import { createScope, type Scope } from './scope.ts';
import { superviseService, type ServiceRun } from './services.ts';
import { runAs } from '../stray-errors.ts';
import { surfaceOf, type Surface } from '../calls/surface.ts';

/** A version of an extension that has been constructed and checked. */
export interface Candidate {
  readonly number: number;
  readonly declaration: Declaration;
  readonly Class: ExtensionClass;
  readonly shipped: boolean;
  readonly config: Readonly<Record<string, unknown>>;
  readonly instance: Extension & Record<string, unknown>;
  readonly scope: Scope;
}

/** A version of an extension that runs. */
export interface Generation extends Candidate {
  /** Replaced when its tools are described anew. */
  surface: Surface;
  readonly calls: Calls;
  started: boolean;
  service: ServiceRun | null;
}

/** Bundles, imports, checks the configuration, constructs, checks `provides`. Throws a `Problem`; leaves nothing behind then. */
export async function construct(parts: HostParts, declaration: Declaration, number: number): Promise<Candidate> {
  const { id } = declaration;
  const slow = slowOf(parts, id);
  const imported = await runPhase({ phase: 'import', clock: parts.clock, limitMs: PHASE_LIMIT_MS, failed: 'import_failed', slow }, () =>
    importClass(parts, declaration, number, parts.owner(id, 'import')),
  );
  return constructClass(parts, declaration, number, imported.Class, imported.shipped);
}

/** As `construct`, for a class that has been imported before. */
export async function constructClass(
  parts: HostParts,
  declaration: Declaration,
  number: number,
  Class: ExtensionClass,
  shipped: boolean,
): Promise<Candidate> {
  const { id, manifest, file } = declaration;
  if (!manifest) throw new Problem('validate', 'manifest_invalid', `the manifest of '${id}' is broken`, { file });
  const config = shipped ? knownConfig(parts, declaration, Class) : checkConfig(Class.config, parts.options.configOf(declaration), file);
  const scope = createScope(parts.clock, STOP_LIMIT_MS);
  const context = createExtensionContext(parts, declaration, config, scope);
  try {
    const instance = await runPhase(
      { phase: 'construct', clock: parts.clock, limitMs: PHASE_LIMIT_MS, failed: 'construct_failed', slow: slowOf(parts, id) },
      () => runAs(parts.owner(id, 'construct'), () => new Class(context)),
    );
    for (const warning of checkProvides(instance, manifest, file)) parts.note(id, 'provides_mismatch', warning);
    return { number, declaration, Class, shipped, config, instance, scope };
  } catch (error) {
    await scope.close();
    throw error;
  }
}

/** Initialises a candidate and learns what it offers. Throws a `Problem`; the candidate is closed then. */
export async function initialize(parts: HostParts, candidate: Candidate): Promise<Generation> {
  const { declaration, instance } = candidate;
  try {
    const surface = await phase(parts, declaration.id, 'initialize', 'initialize_failed', PHASE_LIMIT_MS, async () => {
      await instance.initialize?.();
      const known = candidate.shipped ? knownSurface(parts, declaration) : undefined;
      return surfaceOf(instance, declaration.manifest?.provides ?? [], parts.secrets.redactJson, known);
    });
    for (const warning of surface.descriptor.warnings) parts.note(declaration.id, 'tool_input_invalid', warning);
    return { ...candidate, surface, calls: new Calls(parts.clock), started: false, service: null };
  } catch (error) {
    await stopInstance(parts, candidate);
    throw error;
  }
}

/** Calls `start` and runs the service, once. Throws a `Problem`. */
export async function start(parts: HostParts, generation: Generation): Promise<void> {
  if (generation.started) return;
  generation.started = true;
  const { declaration, instance } = generation;
  await phase(parts, declaration.id, 'start', 'start_failed', PHASE_LIMIT_MS, () => instance.start?.());
  if (!declaration.manifest?.provides.includes('service')) return;
  const run = instance['runBackground'] as (signal: AbortSignal) => Promise<void>;
  generation.service = superviseService({
    clock: parts.clock,
    run: (signal) => runAs(parts.owner(declaration.id, 'background'), () => run.call(instance, signal)),
    crashed: (error) => parts.crashed(declaration.id, problemOf(error, 'background', 'background_failed')),
  });
}

/** Stops the service, gives open calls `graceMs`, calls `stop`, releases what it owns. Never rejects: what goes wrong is recorded. */
export async function close(parts: HostParts, generation: Generation, graceMs: number): Promise<void> {
  const stopped = await generation.service?.stop(STOP_LIMIT_MS);
  if (stopped === false) {
    parts.failures.record(
      generation.declaration.id,
      new Problem('stop', 'phase_timeout', `runBackground did not end within ${STOP_LIMIT_MS / 1000} s of its signal`, {
        cure: 'resolve when the signal aborts',
      }),
    );
  }
  await generation.calls.drain(graceMs);
  await stopInstance(parts, generation);
}

async function stopInstance(parts: HostParts, { declaration, instance, scope }: Candidate): Promise<void> {
  const { id } = declaration;
  try {
    await phase(parts, id, 'stop', 'stop_failed', STOP_LIMIT_MS, () => instance.stop?.());
  } catch (error) {
    parts.failures.record(id, problemOf(error, 'stop', 'stop_failed'));
  }
  for (const error of await scope.close()) parts.failures.record(id, problemOf(error, 'stop', 'stop_failed'));
}

function phase<T>(
  parts: HostParts,
  id: string,
  name: Phase,
  failed: 'initialize_failed' | 'start_failed' | 'stop_failed',
  limitMs: number,
  run: () => T | Promise<T>,
): Promise<T> {
  return runPhase({ phase: name, clock: parts.clock, limitMs, failed, slow: slowOf(parts, id) }, () => runAs(parts.owner(id, name), run));
}

function slowOf(parts: HostParts, id: string): (message: string) => void {
  return (message) => parts.note(id, 'phase_slow', message);
}
