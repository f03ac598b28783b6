import { withCure } from '@pith/plain-text';
import 'reflect-metadata';
import { container, instancePerContainerCachingFactory, type DependencyContainer, type InjectionToken } from 'tsyringe';
import { endpointOf, wantsContent } from '@pith/genai-spans';
import { oncePromised, systemClock } from '@pith/promises';
import { createAgents, createConversations, createThreadStores, noticeOfQuestion, type Agents, type ThreadStores } from '../agent/index.ts';
import { askedAlways, isAdmin, mayChangePith, packageRoot } from '../declarations/index.ts';
import {
  createEventServices,
  createJournal,
  createStoppedExtensions,
  type EventServices,
  Jobs,
  type StoppedExtensions,
} from '../durable/index.ts';
import { createEvents, createHost, createScope, DIRECT, grantedTier, type Host, type ProcessTier } from '../kernel/index.ts';
import type { Services, TierKernel } from '../kernel/index.ts';
import { createLoader } from '../loader/index.ts';
import { createRouter, type ModelRouter } from '../models/index.ts';
import { createDatabase, createKeyValue, createLeases, openStore, sqliteLeaseRows } from '../store/index.ts';
import { openPermissionsFile } from '../trust/index.ts';
import { createFindings, loadNamedTools, toolNames } from './findings.ts';
import { NewProblems } from './problems.ts';
import { hostOptionsOf, settingsFor, sourceOf } from './sandbox-reading.ts';
import {
  AGENTS,
  CLOCK,
  COMMANDS,
  CONVERSATIONS,
  DISCOVERED,
  EVENT_SERVICES,
  EVENTS,
  FINDINGS,
  HOST,
  JOBS,
  JOURNAL,
  LEASES,
  LOADER,
} from './tokens.ts';
import { MODEL_ROUTER, PROBLEMS, PROCESS_TIER, SANDBOX, SCOPE, SERVICES, SOURCE, STOPPED, STORE } from './tokens.ts';
import { THREAD_LOG, THREAD_STORES, TIER_OF, WIRE, WORKING } from './tokens.ts';

/** Asks for the part of a token. */
export type Get = <T>(token: InjectionToken<T>) => T;

/** Registers a part: made when a kernel first asks for it, released when that kernel stops, newest first. */
export function part<T>(
  parts: DependencyContainer,
  token: InjectionToken<T>,
  make: (get: Get) => T,
  release?: (made: T) => void | Promise<void>,
): void {
  const useFactory = instancePerContainerCachingFactory((kernel) => {
    const made = make((asked) => kernel.resolve(asked));
    if (release) kernel.resolve(SCOPE).own(() => release(made));
    return made;
  });
  parts.register(token, { useFactory });
}

/** The parts of a kernel. One is replaced by registering over its token in a child of this container, and in no other way. */
export function createParts(): DependencyContainer {
  const parts = container.createChildContainer();
  part(parts, CLOCK, () => systemClock);
  part(parts, SCOPE, (get) => createScope(get(CLOCK)));
  part(parts, SOURCE, (get) => sourceOf(get(SANDBOX)));
  part(parts, LOADER, (get) => createLoader({ dataDirectory: get(SANDBOX).settings.data_dir, packageRoot: packageRoot() }));
  part(parts, TIER_OF, (get) => grantedTier(get(SOURCE).configOf, get(LOADER)));
  part(parts, PROCESS_TIER, processTier);
  part(parts, WIRE, () => DIRECT);
  part(parts, EVENTS, (get) => createEvents(() => get(JOURNAL)), close);
  part(parts, STORE, (get) => openStore(get(SANDBOX).databaseFile, get(CLOCK)), close);
  part(parts, LEASES, (get) => createLeases(sqliteLeaseRows(get(STORE), get(CLOCK)), get(CLOCK)));
  part(parts, JOURNAL, journal);
  part(parts, EVENT_SERVICES, eventServices);
  part(parts, WORKING, (get) => createScope(get(CLOCK), STOP_MS));
  part(parts, JOBS, jobs);
  part(parts, STOPPED, stopped, close);
  part(parts, THREAD_LOG, () => null);
  part(parts, THREAD_STORES, threadStores);
  part(parts, CONVERSATIONS, (get) => (get(THREAD_LOG) === null ? createConversations(() => get(THREAD_STORES)) : null));
  part(parts, SERVICES, services);
  part(parts, HOST, host);
  part(parts, MODEL_ROUTER, modelRouter);
  part(parts, AGENTS, agents);
  part(parts, FINDINGS, findings);
  part(parts, PROBLEMS, (get) => new NewProblems(get(EVENTS), () => get(FINDINGS).problems()));
  return parts;
}

function close(made: { close(): void | Promise<void> }): void | Promise<void> {
  return made.close();
}

/** Its code is loaded when the first extension needs a process: most starts need none. */
function processTier(get: Get): (kernel: TierKernel) => ProcessTier {
  const { settings, options } = get(SANDBOX);
  const { env, trust } = options;
  const bubblewrap = oncePromised(async () => (await import('@pith/supervised-process')).probeSandboxing());
  const sandboxing = async () => (settings.extensions_sandbox === 'off' ? null : bubblewrap());
  const given = { packageRoot: packageRoot(), env, sandboxing, dataMb: settings.quotas.data_mb, writable: () => trust.writable() };
  return (kernel) => {
    const tier = oncePromised(async () => (await import('../process/index.ts')).createProcessTier(kernel, given));
    return {
      construct: async (version, number) => (await tier()).construct(version, number),
      checkSettings: async (version, number) => (await tier()).checkSettings(version, number),
      settingsSchema: async (version, number) => (await tier()).settingsSchema(version, number),
      openEntry: async (version, entry) => (await tier()).openEntry(version, entry),
      confinement: sandboxing,
    };
  };
}

function journal(get: Get) {
  return createJournal({
    store: get(STORE),
    clock: get(CLOCK),
    handlers: (topic, payload) => get(HOST).handlers.of(topic, payload),
    written: (event) => {
      get(EVENTS).announce(event);
      get(EVENT_SERVICES).written(event);
    },
  });
}

function eventServices(get: Get): EventServices {
  return createEventServices({
    journal: get(JOURNAL),
    leases: get(LEASES),
    wake: () => get(JOBS).wake(),
    clock: get(CLOCK),
    events: get(EVENTS),
    host: get(HOST),
    question: (id) => noticeOfQuestion(id, get(THREAD_STORES).approvals, get(CLOCK)),
  });
}

/** Longer than jobs that run may take to end. */
const STOP_MS = 6000;

function jobs(get: Get): Jobs {
  const host = get(HOST);
  const made = new Jobs({
    store: get(STORE),
    clock: get(CLOCK),
    logger: host.logger('jobs'),
    handlers: host.jobs,
    async failed(extensionId) {
      const here = host.extensions.state(extensionId) === 'failed' ? host.extensions.show(extensionId) : null;
      const failure = here ?? (await get(STOPPED).known()).find((each) => each.extensionId === extensionId);
      if (failure === undefined) return null;
      const { message = '', cure } = failure;
      return withCure(`the extension '${extensionId}' failed: ${message}`, cure);
    },
    kernel: get(EVENT_SERVICES).jobs,
  });
  get(WORKING).own(() => made.stop());
  return made;
}

function stopped(get: Get): StoppedExtensions {
  return createStoppedExtensions({ store: get(STORE), leases: get(LEASES), logger: get(HOST).logger('events') });
}

function threadStores(get: Get): ThreadStores {
  const sandbox = get(SANDBOX);
  const { home, trust } = sandbox.options;
  const kept = home === undefined || trust.project === null ? null : openPermissionsFile(home, trust.project);
  return createThreadStores({
    store: get(STORE),
    clock: get(CLOCK),
    journal: get(JOURNAL),
    leases: get(LEASES),
    withoutSecrets: get(HOST).secrets.redactJson,
    permissions: kept && { ...kept, mayGive: (userId) => mayChangePith(sandbox.settings.admins, userId) },
    log: get(THREAD_LOG),
  });
}

/** What extensions are given beside the kernel. */
function services(get: Get): Services {
  return {
    events: get(EVENTS),
    keyValue: (extensionId) => createKeyValue(get(STORE), extensionId, get(SANDBOX).settings.quotas),
    database: (extensionId) => createDatabase(get(STORE), extensionId),
    jobs: (declaration) => get(JOBS).of(declaration),
    agents: {
      list: async () => (await get(AGENTS).list()).flatMap(({ spec, state }) => (spec === null || state === 'failed' ? [] : [spec])),
      defaultId: async () => settingsFor(get(SANDBOX).settings, get(HOST).agents.declared()).default_agent,
      find: async (id) => (await get(AGENTS).resolve(id)).spec,
      check: (agent) => get(AGENTS).check(agent),
      run: (request, signal) => get(AGENTS).run(request, signal),
    },
  };
}

function host(get: Get): Host {
  const sandbox = get(SANDBOX);
  const { source, configOf } = get(SOURCE);
  const options = {
    ...hostOptionsOf(sandbox),
    source: { ...source, renewed: () => get(PROBLEMS).publish() },
    configOf,
    clock: get(CLOCK),
    loader: get(LOADER),
    services: get(SERVICES),
    processes: get(PROCESS_TIER),
    tierOf: get(TIER_OF),
    wire: get(WIRE),
    commands: get(COMMANDS),
    conversations: get(CONVERSATIONS) ?? undefined,
    isAdmin: (userId: string) => isAdmin(sandbox.settings.admins, userId),
    isGuest: sandbox.options.isGuest ?? false,
  };
  return createHost(options, get(DISCOVERED));
}

function modelRouter(get: Get): ModelRouter {
  const { extensions, providers, setup } = get(HOST);
  const sandbox = get(SANDBOX);
  const { env, isGuest = false } = sandbox.options;
  const router = createRouter({
    onlyNamed: isGuest,
    get settings() {
      return sandbox.settings;
    },
    get env() {
      return { ...setup.stored(), ...env };
    },
    isKept: (name) => (env[name] ?? '').trim() === '' && setup.stored()[name] !== undefined,
    declared: providers.models.declared,
    provider: providers.models.of,
  });
  extensions.onChange(() => router.invalidate());
  return router;
}

/** How old the last look at the folders may be when a turn begins. */
const TURN_REFRESH_MS = 1000;

function agents(get: Get): Agents {
  const [sandbox, made, clock] = [get(SANDBOX), get(HOST), get(CLOCK)];
  return createAgents({
    host: made,
    models: get(MODEL_ROUTER),
    stores: () => get(THREAD_STORES),
    events: get(EVENTS),
    clock,
    sandboxDir: sandbox.options.sandbox,
    exportsTexts: wantsContent(sandbox.options.env['OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT']),
    sendsTraceparent: endpointOf(sandbox.options.env) !== null,
    effort: () => sandbox.settings.effort,
    askAlways: () => askedAlways(sandbox.settings, { ...made.extensions.discovery, toolsOf: toolNames(made) }),
    mayChangePith: (userId) => mayChangePith(sandbox.settings.admins, userId),
    async prepare() {
      await made.refreshIfOlderThan(TURN_REFRESH_MS);
      await loadNamedTools(made, sandbox.settings, clock);
    },
    ended({ threadId, channelId }, { reason, error }) {
      // Who finds a thread busy asks again, or is told.
      if (reason === 'error' && error?.code !== 'thread_busy')
        made.logger('turns').warn('a turn failed', { threadId, channelId, code: error?.code, reason: error?.message });
    },
    unreleased: (threadId, error) => made.logger('threads').warn(`thread '${threadId}' was not given back`, { error }),
  });
}

function findings(get: Get) {
  return createFindings({
    sandbox: get(SANDBOX),
    host: get(HOST),
    agents: get(AGENTS),
    router: get(MODEL_ROUTER),
    events: get(EVENTS),
    clock: get(CLOCK),
  });
}
