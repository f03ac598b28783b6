import type { DependencyContainer } from 'tsyringe';
import { messageOf } from '../contract/index.ts';
import { userHome } from '../trust/index.ts';
import { createRestarts, type Kernel, type KernelOptions } from './kernel.ts';
import { createParts, type Get } from './parts.ts';
import { readSandbox, settingsFor } from './sandbox-reading.ts';
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
  KERNEL,
  MODEL_ROUTER,
} from './tokens.ts';
import { PROBLEMS, SANDBOX, SCOPE, SOURCE, STOPPED, THREAD_STORES, WORKING } from './tokens.ts';

/** Discovers and orders what the sandbox declares. Loads no code of extensions and opens no database. `parts`: with those that replace others. */
export async function createKernel(options: KernelOptions, parts: DependencyContainer = createParts()): Promise<Kernel> {
  const container = parts.createChildContainer();
  const get: Get = (token) => container.resolve(token);
  const { env = process.env, home = userHome() } = options;
  container.register(SANDBOX, { useValue: await readSandbox({ ...options, env, home: home ?? undefined }) });
  container.register(DISCOVERED, { useValue: await get(SOURCE).source.discover(get(CLOCK).now()) });
  container.register(COMMANDS, { useValue: () => options.commands?.(get(KERNEL)) ?? [] });
  container.register(KERNEL, { useValue: kernelOf(get) });
  return get(KERNEL);
}

/** Its parts, then its life. */
function kernelOf(get: Get): Kernel {
  const [sandbox, host, agents, events] = [get(SANDBOX), get(HOST), get(AGENTS), get(EVENTS)];
  const [findings, problems, scope, working] = [get(FINDINGS), get(PROBLEMS), get(SCOPE), get(WORKING)];

  async function start(which: 'all' | 'used' = 'all'): Promise<void> {
    if (which === 'used') return host.startServices(which);
    const [deliveries, jobs, stopped] = [get(EVENT_SERVICES), get(JOBS), get(STOPPED)]; // where the database cannot be opened, nothing has begun
    await host.startServices(which);
    await host.watch();
    if (working.closed) return; // it was stopped meanwhile
    working.own(problems.watch());
    working.own(events.handle('provider.changed', () => problems.publish())); // what it answers now may be wrong, or right again
    working.own(
      events.handle('extension.failed', (failure) => {
        if (failure.code === 'breaker_open') stopped.keep(failure);
      }),
    );
    working.own(
      host.extensions.onChange((ids) => {
        for (const id of ids) if (host.extensions.state(id) !== 'failed') stopped.forget(id);
      }),
    );
    working.own(() => deliveries.stop());
    working.own(host.extensions.onChange(() => jobs.refresh()));
    deliveries.start();
    jobs.start();
  }

  async function end(late?: AbortSignal): Promise<void> {
    const [unwritten, errors] = await Promise.all([sandbox.index.save(), working.close()]); // neither rejects
    if (unwritten) host.logger('index').warn(unwritten.message, { ...unwritten }); // while there is a log
    for (const error of errors) host.logger('host').warn('something that was running could not be stopped', { reason: messageOf(error) });
    await host.stop(late);
    await scope.close();
    await sandbox.index.save();
  }

  let ending: Promise<void> | undefined;
  return {
    trust: sandbox.options.trust,
    get settings() {
      return settingsFor(sandbox.settings, host.agents.declared());
    },
    events,
    get threads() {
      return get(THREAD_STORES).threads;
    },
    get approvals() {
      return get(THREAD_STORES).approvals;
    },
    conversations: get(CONVERSATIONS),
    get jobs() {
      return get(JOBS);
    },
    host,
    agents,
    router: get(MODEL_ROUTER),
    async doctor() {
      const { examine } = await import('./doctor.ts');
      return examine({
        sandbox,
        host,
        agents,
        router: get(MODEL_ROUTER),
        findings,
        clock: get(CLOCK),
        commands: get(COMMANDS)(),
        stopped: () => get(STOPPED).known(),
        deliveries: () => get(EVENT_SERVICES).notes(),
        jobs: () => get(JOBS).store,
      });
    },
    findings: findings.list,
    async problems(agentId) {
      const found = await findings.problems(agentId);
      problems.know(found);
      return found;
    },
    restarts: createRestarts(),
    start,
    stop: (late) => (ending ??= end(late)),
  };
}
