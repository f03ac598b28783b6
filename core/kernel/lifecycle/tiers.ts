import type { Command, ModelProvider, Extension, Clock, JsonValue } from '../../contract/index.ts';
import { type Declaration, handlerNames, isContractOnly } from '../../declarations/index.ts';
import { Problem, problemOf } from '../records/failures.ts';
import { checkConfig, checkAgentKeyWith, jsonSchemaOf, usableConfig } from '../calls/schemas.ts';
import { type Candidate, type Generation, type Version, Calls } from '../calls/generation.ts';
import type { Runtime } from './runtime.ts';
import type { Phase, ErrorCode } from '../records/error-codes.ts';
import { renderPrompt } from '../calls/render-prompt.ts';
import { type DefinedJob, jobOperations } from '../calls/job-calls.ts';
import { handlerOperations, type Implementation, surfaceOf } from '../calls/surface.ts';
import { runAs } from '../records/stray-errors.ts';
import { createExtensionContext } from './extension-context.ts';
import { importClass, type ExtensionClass, type ImportedClass } from './extension-class.ts';
import { lanePolicies } from './defined-jobs.ts';
import { checkClass, Provided } from './provided.ts';
import { createScope, type Scope } from './scope.ts';
import { superviseService, type ServiceRun } from './services.ts';
import { underTraceparent } from '@pith/genai-spans';
import { isThenable, within } from '@pith/promises';

/** Another extension, as `context.use` and `context.find` must know it without waiting. */
export interface ProviderFacts {
  readonly id: string;
  readonly provides: readonly string[];
  readonly constants: Readonly<Record<string, unknown>>;
  /** It runs or could run now. */
  readonly reachable: boolean;
}

/** One member of a provider, as code in a separate process asks for it. */
export interface ProviderMember {
  readonly extensionId: string;
  readonly protocol: string;
  readonly name: string;
}

/** Runs extensions apart from the kernel: one implementation, given by whoever composes. */
export interface ProcessTier {
  /** Bundles, and starts a process that imports, checks and constructs. Rejects with a `Problem`; no process is left then. */
  construct(version: Version, number: number): Promise<Candidate>;
  /** Holds the settings against the schema of the class; constructs nothing. Rejects with a `Problem`. */
  checkSettings(version: Version, number: number): Promise<void>;
  /** The JSON Schema of its settings; null: it has none. */
  settingsSchema(version: Version, number: number): Promise<JsonValue>;
  /** The commands of a command entry, in a process until `end`: the extension is not activated. Rejects with a `Problem`. */
  openEntry(version: Version, entry: string): Promise<{ readonly commands: readonly Command[]; end(): Promise<void> }>;
  /** Whether something holds the code of its processes; null: the settings want nothing to. */
  confinement(): Promise<Confinement | null>;
}

export type Confinement = { readonly available: true } | { readonly available: false; readonly why: string; readonly cure: string };

/** What a tier of processes tells the kernel and asks of it. */
export interface TierKernel {
  readonly runtime: Runtime;
  /** Aborts while Pith ends: nothing that begins an extension is waited for any more. */
  readonly cut: AbortSignal;
  /** Aborts when Pith waits for nothing any more: processes are ended at once. */
  readonly left: AbortSignal;
  /** A process ended by itself. `needed`: it worked or listened, and is started again without being asked. */
  lost(generation: Generation, why: Problem, needed: boolean): void;
  /** Nothing has been asked of it for long: it is stopped until it is needed again. */
  idle(generation: Generation): void;
  /** The other extensions, as one in a separate process must know them. */
  providersFor(user: Declaration): readonly ProviderFacts[];
  /** Told whenever `providersFor` may answer differently. */
  onProviders(listener: () => void): () => void;
  /** A call that the process of `user` makes of another extension. */
  callFromProcess(user: Declaration, member: ProviderMember, args: readonly unknown[]): Promise<unknown>;
}

/** In this process, or in one of its own. */
export interface Tiers extends Pick<ProcessTier, 'construct' | 'checkSettings' | 'settingsSchema'> {
  /** Throws a `Problem` where this kernel starts no processes. */
  processes(declaration: Declaration): ProcessTier;
}

export function createTiers(runtime: Runtime, processes: ProcessTier | undefined): Tiers {
  const isInProcess = ({ declaration }: Version): boolean =>
    isContractOnly(declaration) || runtime.rights.tierOf(declaration) === 'in_process';
  const tiers: Tiers = {
    processes({ id, file }) {
      if (processes) return processes;
      throw new Problem('import', 'import_failed', `'${id}' runs in a separate process, and this kernel starts none`, { file });
    },
    construct: async (version, number) =>
      isInProcess(version) ? constructInProcess(runtime, version, number) : tiers.processes(version.declaration).construct(version, number),
    async checkSettings(version, number) {
      if (!isInProcess(version)) return tiers.processes(version.declaration).checkSettings(version, number);
      const { declaration, config } = version;
      const { Class } = await importInProcess(runtime, declaration, number);
      checkConfig(Class.config, config, declaration.file);
    },
    async settingsSchema(version, number) {
      if (!isInProcess(version)) return tiers.processes(version.declaration).settingsSchema(version, number);
      return jsonSchemaOf((await importInProcess(runtime, version.declaration, number)).Class.config);
    },
  };
  return tiers;
}

/** A version that runs in this process. */
interface Instance extends Version {
  readonly number: number;
  readonly Class: ExtensionClass;
  readonly shipped: boolean;
  readonly instance: Extension & Record<string, unknown>;
  readonly implementations: readonly Implementation[];
  readonly jobs: readonly DefinedJob[];
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
  const { config, slips } = usableConfig(Class.config, version.config, declaration);
  for (const message of slips) runtime.note(id, 'config_invalid', message);
  const scope = createScope(runtime.clock, STOP_LIMIT_MS);
  const provided = new Provided();
  const context = createExtensionContext(runtime, { declaration, config }, scope, provided);
  try {
    const instance = await phase(runtime, id, CONSTRUCT, () => new Class(context));
    for (const { code, message } of Class.settingsNotes?.(config) ?? []) runtime.note(id, code, message);
    const implementations = provided.settle(instance, declaration);
    const jobs = provided.jobs.settle(declaration);
    for (const warning of checkClass(instance, manifest, file)) runtime.note(id, 'provides_mismatch', warning);
    const made: Instance = { ...version, number, Class, shipped, instance, implementations, jobs, scope };
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
  const { declaration, config, instance, implementations, jobs, Class, shipped, number } = made;
  const { id, manifest } = declaration;
  try {
    const surface = await phase(runtime, id, INITIALIZE, async () => {
      await instance.initialize?.();
      const own = [
        ...handlerOperations(instance, handlerNames(manifest)),
        ...jobOperations(jobs, async (job, data) => runtime.services.jobs(declaration).note(job, data)),
      ];
      return { ...(await surfaceOf(instance, implementations, runtime.secrets.redactJson, own)), lanes: lanePolicies(jobs) };
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
      service = superviseService(
        runtime.clock,
        (signal) => underTraceparent(null, () => runAs(runtime.owner(id, 'background'), () => run.call(instance, signal))),
        (error) => runtime.crashed(id, problemOf(error, 'background', 'background_failed')),
      );
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

export interface PhaseLimit {
  readonly phase: Phase;
  readonly clock: Clock;
  /** Milliseconds until the phase is cut. */
  readonly limitMs: number;
  /** The code when it throws. */
  readonly failed: ErrorCode;
  /** Told once when the phase takes longer than two seconds. */
  slow(message: string): void;
}

export const PHASE_LIMIT_MS = 10_000;
export const STOP_LIMIT_MS = 5_000;
const SLOW_MS = 2_000;

/** Runs one phase of an extension's life: warns at 2 s, cuts at the limit, turns what is thrown into a `Problem`. */
export async function runPhase<T>(limit: PhaseLimit, run: () => T | Promise<T>): Promise<T> {
  const { clock, phase, limitMs } = limit;
  let cancel: (() => void) | undefined;
  try {
    const result = underTraceparent(null, run); // it outlives the message that it was needed for
    if (!isThenable(result)) return result;
    cancel = clock.after(SLOW_MS, () => limit.slow(`${phase} takes longer than ${SLOW_MS / 1000} s`));
    return await within(clock, limitMs, result, () => {
      const message = `${phase} did not finish within ${limitMs / 1000} s and was cut`;
      throw new Problem(phase, 'phase_timeout', message, { cure: 'do slow work in runBackground' });
    });
  } catch (error) {
    throw problemOf(error, phase, limit.failed);
  } finally {
    cancel?.();
  }
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
