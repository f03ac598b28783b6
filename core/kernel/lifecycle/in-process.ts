import type { Extension, ModelProvider, Protocol } from '../../contract/index.ts';
import type { Phase, ErrorCode } from '../records/error-codes.ts';
import { checkAgentKeyWith } from '../calls/agent-key-schema.ts';
import { Calls } from '../calls/calls.ts';
import { renderPrompt } from '../calls/render-prompt.ts';
import { handlerNames, type Declaration } from '../discovery/declaration.ts';
import { surfaceOf } from '../calls/surface.ts';
import { Problem, problemOf } from '../records/problem.ts';
import { runAs } from '../records/stray-errors.ts';
import { usableConfig } from '../settings/config-check.ts';
import { createExtensionContext } from './extension-context.ts';
import type { Candidate, Generation, Version } from '../calls/generation.ts';
import { importClass, type ExtensionClass, type ImportedClass } from './import-class.ts';
import { PHASE_LIMIT_MS, runPhase, STOP_LIMIT_MS } from './phase-limit.ts';
import { checkProvides, protocolsOf } from './provides-check.ts';
import type { Runtime } from './runtime.ts';
import { createScope, type Scope } from './scope.ts';
import { superviseService, type ServiceRun } from './services.ts';

/** A version that runs in this process. */
interface Instance extends Version {
  readonly number: number;
  readonly Class: ExtensionClass;
  readonly shipped: boolean;
  readonly instance: Extension & Record<string, unknown>;
  readonly protocols: readonly Protocol[];
  readonly scope: Scope;
}

/** Bundles, imports, checks the configuration, constructs, checks `provides`. Throws a `Problem`; leaves nothing behind then. */
export async function constructInProcess(runtime: Runtime, version: Version, number: number): Promise<Candidate> {
  return constructClass(runtime, version, number, await importInProcess(runtime, version.declaration, number));
}

export function importInProcess(runtime: Runtime, declaration: Declaration, number: number) {
  const { id } = declaration;
  const limit = {
    phase: 'import',
    clock: runtime.clock,
    limitMs: PHASE_LIMIT_MS,
    failed: 'import_failed',
    slow: slowOf(runtime, id),
  } as const;
  return runPhase(limit, () => importClass(runtime, declaration, number, runtime.owner(id, 'import')));
}

/** For a class that has been imported before. */
export async function constructClass(
  runtime: Runtime,
  version: Version,
  number: number,
  { Class, shipped }: ImportedClass,
): Promise<Candidate> {
  const { declaration } = version;
  const { id, manifest, file } = declaration;
  if (!manifest) throw new Problem('validate', 'manifest_invalid', `the manifest of '${id}' is broken`, { file });
  const { config, ignored } = usableConfig(Class.config, version.config, file);
  for (const message of ignored) runtime.note(id, 'config_invalid', message);
  const scope = createScope(runtime.clock, STOP_LIMIT_MS);
  const context = createExtensionContext(runtime, declaration, config, scope);
  try {
    const instance = await phase(runtime, id, CONSTRUCT, () => new Class(context));
    for (const { code, message } of Class.settingsNotes?.(config) ?? []) runtime.note(id, code, message);
    const protocols = protocolsOf(Class.protocols, declaration);
    for (const warning of checkProvides(instance, manifest, file, protocols)) runtime.note(id, 'provides_mismatch', warning);
    const made: Instance = { ...version, number, Class, shipped, instance, protocols, scope };
    return {
      ...version,
      number,
      shipped,
      tier: 'in_process',
      initialize: () => initialize(runtime, made),
      discard: async () => void (await scope.close()),
    };
  } catch (error) {
    await scope.close();
    throw error;
  }
}

async function initialize(runtime: Runtime, made: Instance): Promise<Generation> {
  const { declaration, config, instance, protocols, Class, shipped, number } = made;
  const { id, manifest } = declaration;
  try {
    const surface = await phase(runtime, id, INITIALIZE, async () => {
      await instance.initialize?.();
      return surfaceOf(instance, protocols, runtime.secrets.redactJson, handlerNames(manifest));
    });
    for (const warning of surface.descriptor.warnings) runtime.note(id, 'tool_input_invalid', warning);
    return {
      number,
      declaration,
      config,
      shipped,
      tier: 'in_process',
      surface,
      calls: new Calls(runtime.clock),
      run: (during, work, correlationId) => runAs(runtime.owner(id, during), work, correlationId),
      ...lifeOf(runtime, made),
      again: (next) => constructClass(runtime, { declaration, config }, next, { Class, shipped }),
      checkAgentKey: async (key, value) => checkAgentKeyWith(Class.agentKeys, key, value),
      renderPrompt,
      getModel: async (name, prefix) =>
        runAs(runtime.owner(id, 'call'), () => (instance as unknown as ModelProvider).getModel(name, prefix)),
    };
  } catch (error) {
    await stopInstance(runtime, made);
    throw error;
  }
}

function lifeOf(runtime: Runtime, made: Instance): Pick<Generation, 'start' | 'stopService' | 'stop'> {
  const { declaration, instance, scope } = made;
  const { id, manifest } = declaration;
  let started: Promise<void> | undefined;
  let service: ServiceRun | undefined;
  let isEnding = false;
  return {
    async start(withService) {
      await (started ??= phase(runtime, id, START, () => instance.start?.()));
      if (service || isEnding || scope.closed || !withService || !manifest?.provides.includes('service')) return;
      const run = instance['runBackground'] as (signal: AbortSignal) => Promise<void>;
      service = superviseService({
        clock: runtime.clock,
        run: (signal) => runAs(runtime.owner(id, 'background'), () => run.call(instance, signal)),
        crashed: (error) => runtime.crashed(id, problemOf(error, 'background', 'background_failed')),
      });
    },
    async stopService() {
      isEnding = true;
      if ((await service?.stop(STOP_LIMIT_MS)) !== false) return;
      const late = `runBackground did not end within ${STOP_LIMIT_MS / 1000} s of its signal`;
      runtime.failures.record(id, new Problem('stop', 'phase_timeout', late, { cure: 'resolve when the signal aborts' }));
    },
    stop() {
      isEnding = true;
      return stopInstance(runtime, made);
    },
  };
}

async function stopInstance(runtime: Runtime, { declaration, instance, scope }: Instance): Promise<void> {
  const { id } = declaration;
  try {
    await phase(runtime, id, STOP, () => instance.stop?.());
  } catch (error) {
    runtime.failures.record(id, problemOf(error, 'stop', 'stop_failed'));
  }
  for (const error of await scope.close()) runtime.failures.record(id, problemOf(error, 'stop', 'stop_failed'));
}

function phase<T>(runtime: Runtime, id: string, { name, failed, limitMs }: PhaseOf, run: () => T | Promise<T>): Promise<T> {
  return runPhase({ phase: name, clock: runtime.clock, limitMs, failed, slow: slowOf(runtime, id) }, () =>
    runAs(runtime.owner(id, name), run),
  );
}

interface PhaseOf {
  readonly name: Phase;
  readonly failed: ErrorCode;
  readonly limitMs: number;
}

const CONSTRUCT: PhaseOf = { name: 'construct', failed: 'construct_failed', limitMs: PHASE_LIMIT_MS };
const INITIALIZE: PhaseOf = { name: 'initialize', failed: 'initialize_failed', limitMs: PHASE_LIMIT_MS };
const START: PhaseOf = { name: 'start', failed: 'start_failed', limitMs: PHASE_LIMIT_MS };
const STOP: PhaseOf = { name: 'stop', failed: 'stop_failed', limitMs: STOP_LIMIT_MS };

function slowOf(runtime: Runtime, id: string): (message: string) => void {
  return (message) => runtime.note(id, 'phase_slow', message);
}
