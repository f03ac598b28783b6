import {
  Bundler,
  type Clock,
  type Command,
  CommandProvider,
  Conversations,
  type Diagnostic,
  ExtensionSettings,
  type Logger,
  Permissions,
} from '../contract/index.ts';
import type { Discovery } from '../declarations/index.ts';
import { type Trust, type Cleaning, createSecrets, type Secrets, type SecretSources } from '../trust/index.ts';
import { createFailures, type Failures, type Problem, problemOf } from './records/failures.ts';
import { createLog, type LogLevel, type LogQuota } from './records/logger.ts';
import { guardProcess, type Owner, runOutside } from './records/stray-errors.ts';
import { DIRECT, type Wire } from './calls/invoke.ts';
import { createExtensions, type Extensions } from './extensions.ts';
import { Lifecycle, type SurfaceIndex } from './lifecycle/lifecycle.ts';
import type { Loader, Folders, KernelRuntime, OtherExtensions, Reports, Rights, Services } from './lifecycle/runtime.ts';
import { createTiers, type ProcessTier, type TierKernel } from './lifecycle/tiers.ts';
import { createDeclaredAgents, type DeclaredAgents } from './providers/agents.ts';
import { createCommands } from './providers/commands.ts';
import { createEventHandlers, type EventHandlers } from './providers/event-handlers.ts';
import { createJobHandlers, type JobHandlers } from './providers/job-handlers.ts';
import { callFromProcess } from './providers/handle.ts';
import { type Answer, createOtherExtensions, createProviders, type Providers } from './providers/providers.ts';
import { createProviderFacts } from './providers/provider-facts.ts';
import { createSetupPort, settingsOf, type SetupPort } from './providers/setup-port.ts';
import { permissionsOf, createTools, ToolRenewals } from './providers/tools.ts';
import { notesOnSandbox } from './providers/status.ts';
import { createDynamicDeclarations, type DynamicDeclarations } from './reload/dynamic-declarations.ts';
import { Refresh, type SandboxSource } from './reload/refresh.ts';
import { createReloadWatch } from './reload/reload-watch.ts';

/** What a host is made of. */
export interface HostOptions {
  readonly places: Folders;
  readonly clock: Clock;
  readonly source: SandboxSource;
  readonly configOf: Rights['configOf'];
  readonly index: SurfaceIndex;
  readonly loader: Loader;
  readonly services: Services;
  readonly secrets: SecretSources;
  readonly log?: { readonly level?: LogLevel; readonly quota?: LogQuota };
  /** Absent: extensions run in this process only. */
  processes?(kernel: TierKernel): ProcessTier;
  readonly tierOf: Rights['tierOf'];
  /** What arguments and results pass through; absent: nothing. */
  readonly wire?: Wire;
  /** What a person agreed to. Absent: nothing. */
  readonly trust?: Trust;
  /** Whether a user may do what is kept for administrators. Absent: nobody may. */
  isAdmin?(userId: string): boolean;
  /** The kernel's own commands; extensions in its process find them as those of a provider called `kernel`. */
  commands?(): readonly Command[];
  /** What extensions in its process reach of conversations; absent: none are kept here. */
  readonly conversations?: Conversations;
  /** The process is a program's own, which answers for its errors and its end. Default: Pith does, and no extension can end it. */
  readonly isGuest?: boolean;
}

/** The nano-kernel: extensions of a sandbox, running, and what others take of them. */
export interface Host {
  readonly extensions: Extensions;
  readonly providers: Providers;
  readonly agents: DeclaredAgents;
  /** Handlers and schedules that manifests declare, and calls of them. */
  readonly handlers: EventHandlers;
  /** Jobs that manifests declare, and calls of their handlers. */
  readonly jobs: JobHandlers;
  /** Takes the values of declared secrets out of what is said. */
  readonly secrets: Cleaning;
  /** Settings and secrets, as a person changes them. */
  readonly setup: SetupPort;
  /** Extensions that others declare. */
  readonly dynamic: DynamicDeclarations;
  /** Writes to the log of this sandbox. */
  logger(name: string): Logger;
  /** On processes that run without the sandbox that the settings want. */
  sandboxNotes(): Promise<readonly Diagnostic[]>;
  /** As `extensions.refresh`, when the last look began `ms` ago or earlier; does not wait for a reload that hangs. */
  refreshIfOlderThan(ms: number): Promise<void>;
  /** Refreshes when a folder changes, every five seconds, and when another process asks for a reload, until `stop`. */
  watch(): Promise<void>;
  /** Starts what has `start` or a service, now and for what is activated later; with `used` no services, nor what nothing asks for. */
  startServices(which?: 'used' | 'all'): Promise<void>;
  /** Stops all, dependents first. Never rejects; what does not end within the limits, or before `late` aborts, is left behind. */
  stop(late?: AbortSignal): Promise<void>;
}

/** Orders what the sandbox declares, as its source has just found it; loads code when it is needed. */
export function createHost(options: HostOptions, discovered: Discovery): Host {
  const { clock, places, services, loader, configOf, tierOf, commands: own, trust } = options;
  const secrets = createSecrets(options.secrets.env, options.secrets.stored, options.secrets.project);
  const { level = 'info', quota } = options.log ?? {};
  const log = createLog({ dataDirectory: places.dataDirectory, level, clock, quota, redact: secrets.redact });
  const { redact } = secrets;
  const failures = createFailures({ clock, events: services.events, logger: log.logger('host'), redact });
  const changes = createChanges();
  const others: OtherExtensions = {
    use: (...asked) => otherExtensions.use(...asked),
    find: (...asked) => otherExtensions.find(...asked),
  };
  const runtime: KernelRuntime = {
    ...createReports(() => lifecycle, log, redact, failures),
    failures,
    clock,
    places,
    loader,
    secrets,
    services,
    rights: { configOf, tierOf, isForeign: (each) => tierOf(each) === 'process' && !loader.isShipped(each) },
    others,
  };
  const [cut, left] = [new AbortController(), new AbortController()];
  const processes: ProcessTier | undefined = options.processes?.({
    runtime,
    cut: cut.signal,
    left: left.signal,
    lost: ({ number, declaration: { id } }, why, needed) =>
      lifecycle.post(id, { type: 'lost', number, failure: runtime.failures.describe(id, why), needed }),
    idle: ({ number, declaration: { id } }) => lifecycle.post(id, { type: 'idle', number }),
    providersFor: (user) => providersFor(user),
    onProviders: changes.on,
    callFromProcess: (...call) => callFromProcess(lifecycle, ...call),
  });
  const lifecycle: Lifecycle = new Lifecycle(runtime, createTiers(runtime, processes), options.wire ?? DIRECT, {
    index: options.index,
    cut,
    left,
    changed: (id) => changes.notify(new Set([id])),
  });
  const providersFor = createProviderFacts(lifecycle, changes.on);
  const commands = createCommands(lifecycle, () => own?.() ?? [], trust);
  const answers = new Map<string, Answer>(own ? [[CommandProvider.id, () => ({ getCommands: async () => own() })]] : []);
  const otherExtensions = createOtherExtensions(lifecycle, commands, answers);
  const refresh = new Refresh(lifecycle, options.source, discovered, changes.notify);
  const watch = createReloadWatch(lifecycle, refresh, options.source.watched);
  const dynamic = createDynamicDeclarations(lifecycle, processes, changes.on);
  const { conversations } = options;
  if (conversations) answers.set(Conversations.id, () => conversations);
  answers.set(Bundler.id, dynamic.bundler);
  const extensions = createExtensions(lifecycle, { refresh, watch }, changes.on, dynamic.openAll);
  const setup = createSetupPort(lifecycle, options.secrets, extensions);
  answers.set(ExtensionSettings.id, () => settingsOf(setup, extensions.list));
  const renewals = new ToolRenewals(lifecycle);
  const tools = createTools(lifecycle, renewals, processes);
  answers.set(Permissions.id, () => permissionsOf(tools, extensions.list, options.isAdmin));
  const unguard = options.isGuest ? () => undefined : guardProcess(secrets.redact);
  let stopping: Promise<void> | undefined;
  return {
    extensions,
    providers: createProviders(lifecycle, tools, commands),
    agents: createDeclaredAgents(lifecycle, () => refresh.discovery),
    handlers: createEventHandlers(lifecycle),
    jobs: createJobHandlers(lifecycle),
    secrets,
    setup,
    dynamic,
    logger: (name) => log.logger(name),
    sandboxNotes: () => notesOnSandbox(processes, extensions.list()),
    refreshIfOlderThan: (ms) => refresh.lookIfOlderThan(ms),
    async watch() {
      if (!stopping) await runOutside(() => watch.begin());
    },
    startServices: (which = 'all') => runOutside(() => lifecycle.startServices(which)),
    stop: (late) =>
      (stopping ??= runOutside(async () => {
        await watch.close();
        await lifecycle.stopAll(late);
        renewals.close();
        unguard();
        log.close();
      })),
  };
}

function createChanges() {
  type Listener = (ids: ReadonlySet<string>) => void;
  const listeners = new Set<Listener>();
  return {
    notify(ids: ReadonlySet<string>): void {
      for (const listener of listeners) listener(ids);
    },
    on(listener: Listener): () => void {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

function createReports(
  lifecycle: () => Lifecycle,
  log: ReturnType<typeof createLog>,
  redact: Secrets['redact'],
  failures: Failures,
): Omit<Reports, 'failures'> {
  const crashed = (extensionId: string, problem: Problem): void => {
    if (lifecycle().slots.has(extensionId))
      lifecycle().post(extensionId, { type: 'crashed', failure: failures.describe(extensionId, problem) });
    else failures.record(extensionId, problem);
  };
  return {
    logger: (name) => log.logger(name),
    ...createOwners(crashed),
    note(extensionId, code, message) {
      lifecycle().note(extensionId, redact(message), code);
      log.logger(extensionId).warn(message, { code });
    },
    crashed,
  };
}

/** Whose code runs, for each extension and phase one; `crashed` gets what nobody caught. */
function createOwners(crashed: Reports['crashed']): Pick<Reports, 'owner' | 'loaded'> {
  const owners = new Map<string, Owner>();
  const ours = new Set<string>();
  return {
    owner(extensionId, phase) {
      const key = `${extensionId}\0${phase}`;
      const owner = owners.get(key) ?? {
        extensionId,
        get isShipped() {
          return ours.has(extensionId);
        },
        report: (code, error) => crashed(extensionId, problemOf(error, phase, code)),
      };
      owners.set(key, owner);
      return owner;
    },
    loaded: (extensionId, shipped) => void (shipped ? ours.add(extensionId) : ours.delete(extensionId)),
  };
}
