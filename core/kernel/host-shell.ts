import { canRun, type ProviderFacts } from './records/extensions-port.ts';
import { CommandProvider, messageOf, type Off, PithError, type Protocol, type Remote } from '../contract/index.ts';
import { KERNEL_PROTOCOLS } from './records/kernel-names.ts';
import type { Declaration, Discovery } from './discovery/declaration.ts';
import { createFailures } from './records/failures.ts';
import { createCommandPort, type CommandPort } from './providers/command-port.ts';
import { callFromProcess, remoteOf } from './providers/handle.ts';
import { renewToolsWhenChanged } from './providers/renew-tools.ts';
import type { HostOptions } from './host-options.ts';
import { Lifecycle } from './lifecycle/lifecycle.ts';
import { createRights, type Providers, type Reports, type Runtime } from './lifecycle/runtime.ts';
import { createTiers, type ProcessTier } from './lifecycle/tier.ts';
import { createLog, type Log } from './records/logger.ts';
import { Refresh } from './reload/refresh.ts';
import { createSecrets, type Secrets } from './records/secrets.ts';
import { Toolsets } from '../toolsets/toolsets.ts';
import type { Slot } from './lifecycle/slot.ts';
import { guardProcess, type Owner } from './records/stray-errors.ts';
import { DIRECT, SERIALISED } from './calls/wire.ts';
import { problemOf, type Problem } from './records/problem.ts';

/** The parts of the host, made in order and joined. */
export interface HostShell {
  readonly lifecycle: Lifecycle;
  readonly processes: ProcessTier | undefined;
  readonly secrets: Secrets;
  readonly commands: CommandPort;
  readonly refresh: Refresh;
  readonly log: Log;
  readonly toolsets: Toolsets;
  /** What the kernel itself answers extensions of its process, by the id of the protocol. */
  readonly spoken: Map<string, object>;
  onChange(listener: (ids: ReadonlySet<string>) => void): Off;
  /** Lifts the guard of the process and closes the log. */
  close(): Promise<void>;
}

export function createHostShell(options: HostOptions, discovery: Discovery): HostShell {
  const { clock, places, services, loader, calls = {} } = options;
  const listeners = new Set<(ids: ReadonlySet<string>) => void>();
  const changed = (ids: ReadonlySet<string>): void => {
    for (const listener of listeners) listener(ids);
  };
  const onChange = (listener: (ids: ReadonlySet<string>) => void): Off => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  };
  const secrets = createSecrets(options.secrets.env, options.secrets.stored);
  const { level = 'info', quota } = options.log ?? {};
  const log = createLog({ dataDirectory: places.dataDirectory, level, clock, quota, redact: secrets.redact });
  const failures = createFailures({ clock, events: services.events, logger: log.logger('host'), redact: secrets.redact });
  const rights = createRights(options.configOf, loader, calls.isolation);
  const reports: Reports = {
    failures,
    logger: (name) => log.logger(name),
    ...createOwners((extensionId, problem) => reports.crashed(extensionId, problem)),
    note: (extensionId, code, message) => {
      lifecycle.note(extensionId, secrets.redact(message), code);
      log.logger(extensionId).warn(message, { code });
    },
    crashed: (extensionId, problem) => {
      if (lifecycle.slots.has(extensionId))
        lifecycle.post(extensionId, { type: 'crashed', failure: failures.describe(extensionId, problem) });
      else failures.record(extensionId, problem);
    },
  };
  const providers: Providers = {
    use: (user, protocol) => otherExtensions.use(user, protocol),
    find: (user, protocol) => otherExtensions.find(user, protocol),
  };
  const runtime: Runtime = { ...reports, clock, places, loader, secrets, services, rights, providers };
  const cut = new AbortController();
  const processes = options.processes?.({
    runtime,
    cut: cut.signal,
    lost: ({ number, declaration: { id } }, why, needed) =>
      lifecycle.post(id, { type: 'lost', number, failure: failures.describe(id, why), needed }),
    idle: ({ number, declaration: { id } }) => lifecycle.post(id, { type: 'idle', number }),
    providersFor: (user) => providersFor(lifecycle, user),
    onProviders: onChange,
    callFromProcess: (...call) => callFromProcess(lifecycle, ...call),
  });
  const orphansEnded = processes?.endOrphans().then(
    (count) => count > 0 && log.logger('host').warn('ended processes of extensions that a killed kernel left', { count }),
    (error: unknown) => log.logger('host').warn('processes that a killed kernel left were not ended', { error: messageOf(error) }),
  );
  const tiers = createTiers(runtime, processes);
  const wire = calls.wire ? SERIALISED : DIRECT;
  const lifecycle = new Lifecycle({ runtime, tiers, wire, index: options.index, cut }, (id) => changed(new Set([id])));
  const own = options.commands;
  const commands = createCommandPort(lifecycle, { trust: options.trust, kernelPaths: () => own?.() ?? [] });
  const spoken = new Map<string, object>(own ? [[CommandProvider.id, { getCommands: async () => own() }]] : []);
  const otherExtensions = createProviders(lifecycle, commands, spoken);
  const refresh = new Refresh(lifecycle, options.source, discovery, changed);
  const toolsets = new Toolsets(lifecycle, processes, { trust: options.trust, ...options.toolsets });
  onChange((ids) => toolsets.changed(ids));
  const renewing = renewToolsWhenChanged(lifecycle);
  const unguard = guardProcess(secrets.redact);
  return {
    lifecycle,
    processes,
    secrets,
    commands,
    refresh,
    log,
    toolsets,
    spoken,
    onChange,
    close: async () => {
      renewing();
      toolsets.close();
      unguard();
      await orphansEnded;
      log.close();
    },
  };
}

/** What extensions reach of each other. */
function createProviders(lifecycle: Lifecycle, commands: CommandPort, spoken: ReadonlyMap<string, object>): Providers {
  const { slots } = lifecycle;
  const ofKernel = <T extends object>({ id }: Protocol<T>): readonly Remote<T>[] => {
    const answers = spoken.get(id);
    return answers ? [Object.freeze({ extensionId: 'kernel', ...answers }) as Remote<object> as Remote<T>] : [];
  };
  return {
    use: (user, protocol) => {
      const id = user.manifest?.depends_on.find((each) => provides(slots.get(each), protocol));
      if (id !== undefined) return remote(lifecycle, commands, id, protocol);
      const [answer] = ofKernel(protocol);
      if (answer) return answer;
      throw undeclared(user, protocol);
    },
    find: (user, protocol) => [
      ...ofKernel(protocol),
      ...[...slots.values()]
        .filter((slot) => slot.id !== user.id && provides(slot, protocol) && (slot.pending !== null || canRun(lifecycle.stateOf(slot))))
        .map(({ id }) => remote(lifecycle, commands, id, protocol)),
    ],
  };
}

/** Commands carry functions, which are run in their extension's name. */
function remote<T extends object>(lifecycle: Lifecycle, commands: CommandPort, id: string, protocol: Protocol<T>): Remote<T> {
  if (protocol.id !== 'command') return remoteOf(lifecycle, id, protocol);
  const getCommands = async () => {
    const slot = lifecycle.slots.get(id);
    return slot ? commands.of(slot) : [];
  };
  return Object.freeze({ extensionId: id, getCommands }) as unknown as Remote<T>;
}

function provides(slot: Slot | undefined, protocol: Protocol): boolean {
  return slot?.declaration.manifest?.provides.includes(protocol.id) ?? false;
}

function undeclared(user: Declaration, protocol: Protocol): PithError {
  return new PithError('not_declared', `'${user.id}' asks for a provider of '${protocol.id}', but nothing in its depends_on provides it`, {
    where: user.file,
    cure: "add the provider's id to 'depends_on', or use context.find",
  });
}

/** Whose code runs, for each extension and phase one; `crashed` is told of what nobody caught. */
function createOwners(crashed: (extensionId: string, problem: Problem) => void): Pick<Reports, 'owner' | 'loaded'> {
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

/** Every other extension with what of it a process may reach. */
function providersFor(lifecycle: Lifecycle, user: Declaration): readonly ProviderFacts[] {
  return [...lifecycle.slots.values()].flatMap((slot): readonly ProviderFacts[] => {
    const { inProcessOnly = [], constants = {} } = lifecycle.descriptorOf(slot) ?? {};
    const isOpen = (id: string) => !KERNEL_PROTOCOLS.get(id)?.inProcessOnly && !inProcessOnly.includes(id);
    const provides = (slot.declaration.manifest?.provides ?? []).filter(isOpen);
    if (slot.id === user.id || provides.length === 0) return [];
    return [{ id: slot.id, provides, constants, reachable: slot.pending !== null || canRun(lifecycle.stateOf(slot)) }];
  });
}
