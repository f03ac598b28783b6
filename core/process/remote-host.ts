import type { Sandboxing } from '@pith/supervised-process';
import { messageOf, PithError } from '../contract/index.ts';
import {
  type ErrorCode,
  type Phase,
  makeExtensionData,
  createExtensionContext,
  type Runtime,
  type TierKernel,
  runPhase,
  PHASE_LIMIT_MS,
  STOP_LIMIT_MS,
  createScope,
  Problem,
  problemOf,
} from '../kernel/index.ts';
import { watchFolder } from './data-quota.ts';
import type { Declaration } from '../declarations/index.ts';
import { activeTraceparent, underTraceparent } from '@pith/genai-spans';
import { elapsed, systemClock } from '@pith/promises';
import { CommandCalls } from './command-bridge.ts';
import { createPeer, floodLimit, Liveness, MAX_QUEUED_BYTES, type Peer } from '@pith/process-rpc';
import { CODEC } from './crossing.ts';
import { KernelCalls, OwnTurns } from './kernel-calls.ts';
import { launchHost, type Ending } from './launch.ts';

/** How long a process that hung up may take to say how it ended. */
const HANG_UP_MS = 1000;

/** The process of one version of an extension, as the kernel holds it. */
export interface RemoteHost {
  readonly peer: Peer;
  readonly commands: CommandCalls;
  readonly turns: OwnTurns;
  /** Its service works, or it waits for events: it is not ended for being idle, and is started again. */
  readonly isNeeded: boolean;
  /** `end` was called. */
  readonly ending: boolean;
  /** Asks it for one phase of its life. Rejects with a `Problem`; the process is ended then. */
  phase(name: Phase, failed: ErrorCode, operation: string, args?: readonly unknown[]): Promise<unknown>;
  /** Told what its code is asked for. */
  asked(phase: Phase): void;
  /** Told when it has been started; `serves`: its service works by itself from now on. */
  started(serves: boolean): void;
  /** Told once, with the reason, when the process has ended before `end` was called. */
  lost(listener: (why: Problem) => void): void;
  /** Ends the process, and releases what its code took through the context. Never rejects. */
  end(why: string): Promise<void>;
}

/** What the processes of extensions are started with. */
export interface ProcessOptions {
  /** Absolute path of Pith's own package. */
  readonly packageRoot: string;
  /** Of this the search path, the time zone and the language reach a process. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** What can hold processes; null when the settings want nothing to. */
  sandboxing(): Promise<Sandboxing | null>;
  /** The most that an extension may keep in its data folder. */
  readonly dataMb: number;
  /** Folders that some extension may write: no path that leads through one is opened. */
  writable(): readonly string[];
}

export async function openRemoteHost(
  kernel: TierKernel,
  options: ProcessOptions,
  declaration: Declaration,
  entry: string,
): Promise<RemoteHost> {
  const { id, manifest, directory } = declaration;
  const { runtime, cut: cutSignal, left } = kernel;
  const { dataDirectory, sandbox, project, home } = runtime.places;
  const { packageRoot, env, dataMb } = options;
  const sandboxing = await options.sandboxing();
  const data = dataOf(runtime, id);
  const scope = createScope(runtime.clock, STOP_LIMIT_MS);
  const { config, memoryMb } = runtime.rights.configOf(declaration);
  const context = createExtensionContext(runtime, { declaration, config }, scope);
  const commands = new CommandCalls();
  const turns = new OwnTurns(id);
  /** What its code was last asked to do. */
  let doing: Phase = 'import';
  let isServing = false;
  const calls = new KernelCalls({
    reports: runtime,
    callFromProcess: (...call) => kernel.callFromProcess(...call),
    declaration,
    context,
    jobs: () => runtime.services.jobs(declaration),
    commands,
    turns,
    peer: () => peer,
    background: () => void (doing = 'background'),
  });
  const running = await launchHost({
    extensionId: id,
    entry,
    directory,
    dataDirectory: data,
    stateDirectory: dataDirectory,
    sandbox,
    project,
    home,
    packageRoot,
    writable: options.writable(),
    permissions: manifest?.permissions ?? { network: false, read: [], write: [], agents: [] },
    ...(memoryMb === null ? {} : { memoryMb }),
    sandboxing,
    env,
    output: (line) => runtime.logger(id).info(line),
  }).catch(async (error: unknown) => {
    await scope.close();
    throw problemOf(error, 'import', 'import_failed');
  });
  const unwatch = watchFolder(data, dataMb, systemClock, (message) =>
    running.kill({ code: 'quota_exceeded', message, cure: `remove what is not needed there, or raise quotas.data_mb` }),
  );
  void running.ended.then(unwatch);
  let ending = false;
  let onLost: ((why: Problem) => void) | undefined;
  let cancelHangUp: (() => void) | undefined;
  const kill = (message: string): void => running.kill({ code: 'process_ended', message });
  const peer = createPeer({
    socket: running.socket,
    codec: CODEC,
    maxQueuedBytes: MAX_QUEUED_BYTES,
    serve: calls.serve,
    cause: () => ({ traceparent: activeTraceparent() }),
    under: ({ traceparent }, serve) => underTraceparent(traceparent, serve),
    asked: floodLimit(kill, elapsed),
    ignored: calls.ignored,
    broken: (why, gone) => {
      // On a busy machine the timer may come before the end that has been reported meanwhile.
      if (gone) cancelHangUp = systemClock.after(HANG_UP_MS, () => void setImmediate(() => kill(why)));
      else kill(why);
    },
  });
  const liveness = new Liveness({
    after: systemClock.after,
    ping: () => peer.ping(),
    busy: () => isServing || peer.open > 0,
    working: (isWorking) => running.working(isWorking),
    silent: () => kill('it did not answer for 5 s and was ended'),
  });
  let sentProviders = JSON.stringify(kernel.providersFor(declaration));
  scope.own(
    kernel.onProviders(() => {
      const facts = kernel.providersFor(declaration);
      const text = JSON.stringify(facts);
      if (text !== sentProviders) peer.notify('providers', [facts]);
      sentProviders = text;
    }),
  );
  const gone = running.ended.then((how) => over(how));

  async function over({ code, message, cure }: Ending): Promise<void> {
    cancelHangUp?.();
    liveness.close();
    const text = `the process of '${id}' is gone: ${message}`;
    peer.close(new PithError(ending ? 'interrupted' : 'provider_failed', text, { retryable: true }));
    if (!ending) onLost?.(new Problem(doing, code, text, { cure: cure ?? `correct the source of ${id}; the log has what it wrote` }));
    await scope.close();
  }

  const remote: RemoteHost = {
    peer,
    commands,
    turns,
    get isNeeded() {
      return isServing || calls.listens;
    },
    get ending() {
      return ending;
    },
    async phase(name, failed, operation, args = []) {
      const limitMs = name === 'stop' ? STOP_LIMIT_MS * 2 : PHASE_LIMIT_MS;
      const slow = (message: string): void => runtime.note(id, 'phase_slow', message);
      try {
        remote.asked(name);
        return await runPhase({ phase: name, clock: runtime.clock, limitMs, failed, slow }, () => peer.call(operation, args));
      } catch (error) {
        await remote.end('it was ended after an error');
        const own = problemOf(error, name, failed);
        if (own.code !== 'provider_failed') throw own;
        // What the process could not say itself is reported as a failure of the phase; a service may have begun before that was said.
        const during = (doing as Phase) === 'background' ? 'background' : name;
        throw new Problem(during, failed, messageOf(own), { cause: error, cure: own.cure });
      }
    },
    asked(phase) {
      doing = phase;
      liveness.used();
    },
    started(serves) {
      isServing = serves;
      remote.asked(serves ? 'background' : 'call');
    },
    lost: (listener) => (onLost = listener),
    async end(why) {
      ending = true;
      kill(why);
      await gone;
    },
  };
  // What is initialised is ended by whoever has it by then.
  const cut = (): void => void ((doing === 'import' || doing === 'construct') && remote.end('Pith is stopping'));
  cutSignal.addEventListener('abort', cut);
  scope.own(() => cutSignal.removeEventListener('abort', cut));
  if (cutSignal.aborted) cut();
  const leave = (): void => void remote.end('Pith has stopped');
  left.addEventListener('abort', leave);
  scope.own(() => left.removeEventListener('abort', leave));
  return remote;
}

function dataOf({ places }: Pick<Runtime, 'places'>, id: string): string {
  try {
    return makeExtensionData(places.dataDirectory, id);
  } catch (error) {
    throw problemOf(error, 'import', 'import_failed');
  }
}
