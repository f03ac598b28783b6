import { openPermissionsFile, userHome } from '../trust/index.ts';
import 'reflect-metadata';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { container as root, instanceCachingFactory, type InjectionToken } from 'tsyringe';
import { within } from '@pith/promises';
import { examine, ownFindings } from './doctor.ts';
import {
  createEventServices,
  createSqliteJournal,
  createStoppedExtensions,
  type EventServices,
  type SqliteJournal,
  type StoppedExtensions,
} from '../durable/index.ts';
import { createEvents, createListenerFailures, createHost, createScope } from '../kernel/index.ts';
import { configuredIds, isAdmin, DEFAULT_SETTINGS, type Settings, askedAlways, unknownNames } from '../declarations/index.ts';
import { systemClock } from '@pith/promises';
import { hostOptionsOf, readSandbox } from './sandbox-reading.ts';
import { ChannelProvider } from '../contract/index.ts';
import { createRouter, type ModelRouter } from '../models/index.ts';
import { createDatabase, createKeyValue, createLeases, openStore, sqliteLeaseRows, type Store } from '../store/index.ts';
import { NewProblems, problemsIn } from './problems.ts';
import { createRestarts, type Kernel, type KernelOptions } from './kernel.ts';
import { createAgents, createThreadStores, noticeOfQuestion, type ThreadStores } from '../agent/index.ts';
export type { Kernel, KernelOptions } from './kernel.ts';

/** How old the last look at the folders may be when a turn begins. */
const TURN_REFRESH_MS = 1000;
/** So long are code that knows the names of tools, and code that checks its settings, waited for. */
const ASKED_WAIT_MS = 2000;

const STORE: InjectionToken<Store> = Symbol('store');
const JOURNAL: InjectionToken<SqliteJournal> = Symbol('journal');
const EVENT_SERVICES: InjectionToken<EventServices> = Symbol('event services');
const STOPPED: InjectionToken<StoppedExtensions> = Symbol('stopped extensions');
const STORES: InjectionToken<ThreadStores> = Symbol('threads and approvals');
const ROUTER: InjectionToken<ModelRouter> = Symbol('router');

/** Discovers and orders what the sandbox declares. Loads no code of extensions and opens no database. */
export async function createKernel(options: KernelOptions): Promise<Kernel> {
  const { env = process.env, clock = systemClock, model } = options;
  const container = root.createChildContainer();
  const listenerFailures = createListenerFailures();
  const events = createEvents({ ...listenerFailures, journal: () => get(JOURNAL) });

  const { home = userHome() } = options;
  const reading = await readSandbox({ ...options, env, home: home ?? undefined });
  const { settings, index } = reading;
  const { sandbox } = reading.options;
  const scope = createScope(clock);

  /** Made when it is first asked for, released when the kernel stops, newest first. */
  const lazily = <T>(token: InjectionToken<T>, make: () => T, release?: (made: T) => void | Promise<void>) =>
    container.register(token, {
      useFactory: instanceCachingFactory(() => {
        const made = make();
        if (release) scope.own(() => release(made));
        return made;
      }),
    });
  const get = <T>(token: InjectionToken<T>): T => container.resolve(token);

  const databaseFile = path.join(settings.data_dir, 'pith.db');
  lazily(
    STORE,
    () => openStore(databaseFile, clock),
    (store) => store.close(),
  );
  lazily(JOURNAL, () =>
    createSqliteJournal({
      store: get(STORE),
      clock,
      handlers: (topic, payload) => host.handlers.of(topic, payload),
      written: (event) => {
        events.announce(event);
        services?.written(event);
      },
    }),
  );
  lazily(EVENT_SERVICES, () =>
    createEventServices({
      journal: get(JOURNAL),
      leases: createLeases(sqliteLeaseRows(get(STORE), clock), clock),
      clock,
      logger: host.logger('events'),
      events,
      host: {
        handlers: host.handlers,
        channels: () => host.providers.running(ChannelProvider),
        onChange: host.extensions.onChange,
      },
      question: (id) => noticeOfQuestion(id, get(STORES).approvals, clock),
    }),
  );
  lazily(
    STOPPED,
    () =>
      createStoppedExtensions({
        store: get(STORE),
        leases: createLeases(sqliteLeaseRows(get(STORE), clock), clock),
        logger: host.logger('events'),
      }),
    (made) => made.close(),
  );
  lazily(STORES, () => {
    const { project } = reading.options.trust;
    const permissions = home === null || project === null ? null : openPermissionsFile(home, project);
    return createThreadStores(get(STORE), clock, get(JOURNAL), { withoutSecrets: host.secrets.redactJson, permissions });
  });

  const ownCommands = () => options.commands?.(kernel) ?? [];
  const ofSandbox = hostOptionsOf(reading);
  const host = await createHost({
    ...ofSandbox,
    source: {
      ...ofSandbox.source,
      renewed: async () => {
        if (services !== null) await problems.publish(); // before, nobody listens, and asking the agents would load code
      },
    },
    clock,
    services: {
      events,
      keyValue: (extensionId) => createKeyValue(get(STORE), extensionId, reading.settings.quotas),
      database: (extensionId) => createDatabase(get(STORE), extensionId),
      agents: {
        list: async () => (await agents.list()).flatMap(({ spec, state }) => (spec === null || state === 'failed' ? [] : [spec])),
        find: async (id) => (await agents.resolve(id)).spec,
        check: (agent) => agents.check(agent),
        run: (request, signal) => agents.run(request, signal),
      },
    },
    calls: { wire: options.wire, isolation: options.isolation },
    commands: ownCommands,
    isAdmin: (userId) => isAdmin(reading.settings.admins, userId),
  });

  lazily(ROUTER, () =>
    createRouter({
      get settings() {
        return reading.settings;
      },
      get env() {
        return { ...host.setup.stored(), ...env };
      },
      isKept: (name) => (env[name] ?? '').trim() === '' && host.setup.stored()[name] !== undefined,
      declared: host.providers.models.declared,
      provider: host.providers.models.of,
      override: model,
    }),
  );
  host.extensions.onChange(() => get(ROUTER).invalidate());

  const toolsOf = (id: string): readonly string[] => host.providers.tools.known(id).map(({ name }) => name);

  /** Tools that the settings name one by one are known only to code that has run. */
  const loadNamedTools = async () => {
    const named = reading.settings.approvals.tools.filter((entry) => entry.includes('/'));
    const known = Promise.allSettled(named.map((entry) => host.providers.tools.of(entry.split('/', 1)[0] as string)));
    if (named.length > 0) await within(clock, ASKED_WAIT_MS, known);
  };

  /** What a person wrote for an extension is checked by its code, which may not be needed otherwise. */
  const checkSettings = async () => {
    const ids = configuredIds(reading.settings, host.extensions.discovery.declarations);
    const idle = ids.filter((id) => host.extensions.state(id) === 'idle');
    if (idle.length > 0) await within(clock, ASKED_WAIT_MS, Promise.allSettled(idle.map((id) => host.extensions.activate(id))));
  };

  const agents = createAgents({
    host,
    models: get(ROUTER),
    stores: () => get(STORES),
    events,
    clock,
    sandboxDir: sandbox,
    askAlways: () => askedAlways(reading.settings, { ...host.extensions.discovery, toolsOf }),
    async prepare() {
      await host.refreshIfOlderThan(TURN_REFRESH_MS);
      await loadNamedTools();
    },
    unreleased: (threadId, error) => host.logger('threads').warn(`thread '${threadId}' was not given back`, { error }),
  });

  const findings = () =>
    host.secrets.redactJson([
      ...reading.diagnostics,
      ...host.extensions.discovery.diagnostics,
      ...unknownNames(reading.settings, { ...host.extensions.discovery, agents: host.agents.declared(), router: get(ROUTER), toolsOf }),
      ...listenerFailures.diagnostics(),
    ]);

  const problemsNow = async (agentId?: string) => {
    const isWhole = agentId === undefined;
    await checkSettings();
    const own = isWhole ? await ownFindings(host) : [];
    await loadNamedTools();
    const statuses = await agents.list(agentId);
    const { default_agent: defaultAgent } = settingsNow();
    return host.secrets.redactJson(
      problemsIn({ findings: findings(), own, extensions: host.extensions.list(), agents: statuses, defaultAgent }),
    );
  };
  const problems = new NewProblems(events, () => problemsNow());
  events.handle('provider.changed', async () => {
    if (services !== null && stopping === undefined) await problems.publish(); // what it answers now may be wrong, or right again
  });

  let stopped: StoppedExtensions | null = null;
  events.handle('extension.failed', (failure) => {
    if (services !== null && failure.code === 'breaker_open') (stopped ??= get(STOPPED)).keep(failure);
  });
  host.extensions.onChange((ids) => {
    for (const id of ids) if (host.extensions.state(id) !== 'failed') stopped?.forget(id);
  });

  /** With a default agent that there is, where the one that is named is none and that of the defaults is there. */
  const settingsNow = (): Settings => {
    const { default_agent } = DEFAULT_SETTINGS;
    const has = (id: string) => host.agents.declared().some((agent) => agent.id === id);
    return has(reading.settings.default_agent) || !has(default_agent) ? reading.settings : { ...reading.settings, default_agent };
  };

  let services: EventServices | null = null;
  let stopping: Promise<void> | undefined;
  const stop = async () => {
    const unwritten = await index.save(); // never rejects
    if (unwritten) host.logger('index').warn(unwritten.message, { ...unwritten }); // while there is a log
    await services?.stop();
    await host.stop();
    await scope.close();
    await index.save();
    events.close();
    container.clearInstances();
  };

  const kernel: Kernel = {
    trust: reading.options.trust,
    get settings() {
      return settingsNow();
    },
    events,
    get threads() {
      return get(STORES).threads;
    },
    get approvals() {
      return get(STORES).approvals;
    },
    host,
    agents,
    get router() {
      return get(ROUTER);
    },
    async doctor() {
      const { data_dir: dataDirectory, quotas } = reading.settings;
      const { level, opened, sandbox, isBare, project, why } = reading.options.trust;
      const report = await examine({
        host,
        agents,
        router: get(ROUTER),
        findings,
        settingsUnread: reading.unread,
        stopped: async () => (existsSync(databaseFile) ? get(STOPPED).known() : []),
        deliveries: async () => (existsSync(databaseFile) ? get(EVENT_SERVICES).notes() : []),
        commands: ownCommands(),
        databaseFile,
        dataDirectory,
        quotas,
        clock,
      });
      return { sandbox: { path: isBare ? sandbox : opened, project, trust: level, why, state: dataDirectory }, ...report };
    },
    findings,
    async problems(agentId) {
      const found = await problemsNow(agentId);
      problems.know(found);
      return found;
    },
    restarts: createRestarts(),
    async start(which = 'all') {
      await host.startServices(which);
      if (which === 'used') return;
      await host.watch();
      if (stopping) return; // it was stopped meanwhile
      services = get(EVENT_SERVICES);
      services.start();
    },
    stop: () => (stopping ??= stop()),
  };
  return kernel;
}
