import type { Extension, ModelProvider, Phase, Protocol } from '../../contract/index.ts';
import { checkAgentKeyWith } from '../calls/agent-key-schema.ts';
import { Calls } from '../calls/calls.ts';
import { handlerNames } from '../events/declared-handlers.ts';
import { surfaceOf } from '../calls/surface.ts';
import type { Declaration } from '../discovery/declaration.ts';
import type { HostParts } from '../host-parts.ts';
import { Problem, problemOf } from '../problem.ts';
import { runAs } from '../stray-errors.ts';
import { usableConfig } from './config-check.ts';
import { createExtensionContext } from './extension-context.ts';
import type { Candidate, Generation, Version } from './generation.ts';
import { importClass, type ExtensionClass, type ImportedClass } from './import-class.ts';
import { PHASE_LIMIT_MS, runPhase, STOP_LIMIT_MS } from './phase-limit.ts';
import { checkProvides, protocolsOf } from './provides-check.ts';
import { createScope, type Scope } from './scope.ts';
import { superviseService, type ServiceRun } from './services.ts';

/** What a version that runs in this process is made of. */
interface Parts extends Version {
  readonly number: number;
  readonly Class: ExtensionClass;
  readonly shipped: boolean;
  readonly instance: Extension & Record<string, unknown>;
  readonly protocols: readonly Protocol[];
  readonly scope: Scope;
}

/** Bundles, imports, checks the configuration, constructs, checks `provides`. Throws a `Problem`; leaves nothing behind then. */
export async function constructInProcess(host: HostParts, version: Version, number: number): Promise<Candidate> {
  return constructClass(host, version, number, await importInProcess(host, version.declaration, number));
}

export function importInProcess(host: HostParts, declaration: Declaration, number: number) {
  const { id } = declaration;
  const limit = { phase: 'import', clock: host.clock, limitMs: PHASE_LIMIT_MS, failed: 'import_failed', slow: slowOf(host, id) } as const;
  return runPhase(limit, () => importClass(host, declaration, number, host.owner(id, 'import')));
}

/** For a class that has been imported before. */
export async function constructClass(
  host: HostParts,
  version: Version,
  number: number,
  { Class, shipped }: ImportedClass,
): Promise<Candidate> {
  const { declaration } = version;
  const { id, manifest, file } = declaration;
  if (!manifest) throw new Problem('validate', 'manifest_invalid', `the manifest of '${id}' is broken`, { file });
  const { config, ignored } = usableConfig(Class.config, version.config, file);
  for (const message of ignored) host.note(id, 'config_invalid', message);
  const scope = createScope(host.clock, STOP_LIMIT_MS);
  const context = createExtensionContext(host, declaration, config, scope);
  try {
    const instance = await runPhase(
      { phase: 'construct', clock: host.clock, limitMs: PHASE_LIMIT_MS, failed: 'construct_failed', slow: slowOf(host, id) },
      () => runAs(host.owner(id, 'construct'), () => new Class(context)),
    );
    for (const { code, message } of Class.settingsNotes?.(config) ?? []) host.note(id, code, message);
    const protocols = protocolsOf(Class.protocols, declaration);
    for (const warning of checkProvides(instance, manifest, file, protocols)) host.note(id, 'provides_mismatch', warning);
    const parts: Parts = { ...version, number, Class, shipped, instance, protocols, scope };
    return {
      ...version,
      number,
      shipped,
      tier: 'in_process',
      initialize: () => initialize(host, parts),
      discard: async () => void (await scope.close()),
    };
  } catch (error) {
    await scope.close();
    throw error;
  }
}

async function initialize(host: HostParts, parts: Parts): Promise<Generation> {
  const { declaration, config, instance, protocols, Class, shipped, number } = parts;
  const { id, manifest } = declaration;
  try {
    const surface = await phase(host, id, 'initialize', 'initialize_failed', PHASE_LIMIT_MS, async () => {
      await instance.initialize?.();
      return surfaceOf(instance, protocols, host.secrets.redactJson, handlerNames(manifest));
    });
    for (const warning of surface.descriptor.warnings) host.note(id, 'tool_input_invalid', warning);
    return {
      number,
      declaration,
      config,
      shipped,
      tier: 'in_process',
      surface,
      calls: new Calls(host.clock),
      run: (during, work, correlationId) => runAs(host.owner(id, during), work, correlationId),
      ...lifeOf(host, parts),
      again: (next) => constructClass(host, { declaration, config }, next, { Class, shipped }),
      checkAgentKey: async (key, value) => checkAgentKeyWith(Class.agentKeys, key, value),
      renderPrompt: (prompt) => host.renderPrompt(prompt),
      getModel: async (name, prefix) => runAs(host.owner(id, 'call'), () => (instance as unknown as ModelProvider).getModel(name, prefix)),
    };
  } catch (error) {
    await stopInstance(host, parts);
    throw error;
  }
}

function lifeOf(host: HostParts, parts: Parts): Pick<Generation, 'start' | 'stopService' | 'stop'> {
  const { declaration, instance, scope } = parts;
  const { id, manifest } = declaration;
  let started: Promise<void> | undefined;
  let service: ServiceRun | undefined;
  let isEnding = false;
  return {
    async start(withService) {
      await (started ??= phase(host, id, 'start', 'start_failed', PHASE_LIMIT_MS, () => instance.start?.()));
      if (service || isEnding || scope.closed || !withService || !manifest?.provides.includes('service')) return;
      const run = instance['runBackground'] as (signal: AbortSignal) => Promise<void>;
      service = superviseService({
        clock: host.clock,
        run: (signal) => runAs(host.owner(id, 'background'), () => run.call(instance, signal)),
        crashed: (error) => host.crashed(id, problemOf(error, 'background', 'background_failed')),
      });
    },
    async stopService() {
      isEnding = true;
      if ((await service?.stop(STOP_LIMIT_MS)) !== false) return;
      const late = `runBackground did not end within ${STOP_LIMIT_MS / 1000} s of its signal`;
      host.failures.record(id, new Problem('stop', 'phase_timeout', late, { cure: 'resolve when the signal aborts' }));
    },
    stop() {
      isEnding = true;
      return stopInstance(host, parts);
    },
  };
}

async function stopInstance(host: HostParts, { declaration, instance, scope }: Parts): Promise<void> {
  const { id } = declaration;
  try {
    await phase(host, id, 'stop', 'stop_failed', STOP_LIMIT_MS, () => instance.stop?.());
  } catch (error) {
    host.failures.record(id, problemOf(error, 'stop', 'stop_failed'));
  }
  for (const error of await scope.close()) host.failures.record(id, problemOf(error, 'stop', 'stop_failed'));
}

function phase<T>(
  host: HostParts,
  id: string,
  name: Phase,
  failed: 'initialize_failed' | 'start_failed' | 'stop_failed',
  limitMs: number,
  run: () => T | Promise<T>,
): Promise<T> {
  return runPhase({ phase: name, clock: host.clock, limitMs, failed, slow: slowOf(host, id) }, () => runAs(host.owner(id, name), run));
}

function slowOf(host: HostParts, id: string): (message: string) => void {
  return (message) => host.note(id, 'phase_slow', message);
}
