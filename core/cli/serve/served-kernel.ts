import { printableLine } from '@pith/plain-text';
import { systemClock, untilAborted, within } from '@pith/promises';
import { type CommandIO, messageOf } from '../../contract/index.ts';
import type { Kernel } from '../../compose/index.ts';
import { isDiskFull } from '../../store/index.ts';
import { Problems } from '../terminal/problems.ts';
import { EXIT } from '../terminal/report.ts';
import { lastGoodIn } from '../../declarations/index.ts';
import { ALIVE_MS, numberIn, RESTART_EXIT, type Message } from './kernel-process.ts';

/** A start must run well for this long before its extensions are recorded as good. */
const HEALTHY_MS = 60_000;
/** How often a start tries again while the disk is full. */
const FULL_MS = 1000;
/** How many times; a service manager starts Pith again afterwards. */
const MOST_TRIES = 3600;
/** How long a restart waits for running turns. */
const TURNS_MS = 10_000;

/** Runs the kernel with its services until `signal` ends it, its supervisor is gone, or somebody asks for a restart. */
export async function serveKernel(
  open: () => Promise<Kernel>,
  env: Readonly<Record<string, string | undefined>>,
  io: CommandIO,
  signal: AbortSignal,
): Promise<number> {
  const orphaned = (): void => void process.kill(process.pid, 'SIGTERM');
  process.once('disconnect', orphaned);
  await sendToSupervisor({ type: 'alive' });
  const alive = setInterval(() => void sendToSupervisor({ type: 'alive' }), ALIVE_MS);
  const kernel = await open();
  const dataDirectory = kernel.settings.data_dir;
  const running = () => [...kernel.host.extensions.discovery.declarations.values()].filter(({ id }) => mayRun(kernel, id));
  const good = lastGoodIn(dataDirectory, running, Date.now);
  const suspects = good
    .changed()
    .map((changed) => ({ ...changed, inProcess: kernel.settings.extensions[changed.id]?.isolation === 'in_process' }));
  await sendToSupervisor({ type: 'declared', dataDirectory, suspects });
  const healthy = setInterval(() => good.recordIfSteady(), numberIn(env, 'PITH_SERVE_HEALTHY_MS', HEALTHY_MS));
  const turns = openTurns(kernel);
  const problems = new Problems(kernel, io);
  problems.follow({ services: true });
  kernel.events.handle('service.ready', ({ extensionId, text }) =>
    io.quiet ? undefined : io.print(printableLine(`${extensionId}: ${text}`)),
  );
  const refused = serviceRefused(kernel);

  try {
    const asked = restartAsked(kernel, signal);
    const opened = startWithRoom(kernel, io, signal).catch(async (error: unknown) => {
      await sendToSupervisor({ type: 'not started' });
      throw error;
    });
    const started = opened.then(() => (signal.aborted ? undefined : announce(kernel, problems, io, refused.takenBack)));
    const reason = await Promise.race([asked, refused.reported, started.then(() => asked)]); // a start that never finishes must not keep it from ending
    if (reason === null) return 0;
    if (reason === REFUSED) {
      await sendToSupervisor({ type: 'not started' });
      return EXIT.failed;
    }
    await turns.ended(TURNS_MS, signal);
    await sendToSupervisor({ type: 'restart', reason });
    return RESTART_EXIT;
  } finally {
    clearInterval(alive);
    clearInterval(healthy);
    process.off('disconnect', orphaned);
  }
}

/** While the disk is full nothing has begun, so it can be tried again: a kernel that runs waits for space too. */
async function startWithRoom(kernel: Kernel, io: CommandIO, signal: AbortSignal): Promise<void> {
  for (let tries = 1; !signal.aborted; tries += 1) {
    try {
      return await kernel.start();
    } catch (error) {
      if (!isDiskFull(error) || tries === MOST_TRIES) throw error;
      if (tries === 1) io.error(`pith: ${messageOf(error)}; free some space: pith serve waits for it, and starts then`);
    }
    await systemClock.sleep(FULL_MS, signal).catch(() => undefined); // ended meanwhile
  }
}

function mayRun(kernel: Kernel, id: string): boolean {
  const state = kernel.host.extensions.show(id)?.state;
  return state === 'active' || state === 'idle';
}

async function announce(kernel: Kernel, problems: Problems, io: CommandIO, allowed: () => Promise<void>): Promise<void> {
  const quarantined = kernel.host.extensions.list().filter(({ code }) => code === 'quarantined');
  for (const { id, message = '', cure = '' } of quarantined) {
    kernel.host.logger('serve').warn(`${id} was not started`, { message, cure });
  }
  await problems.report();
  await allowed();
  io.json({ type: 'started', sandbox: kernel.trust.sandbox, pid: process.pid, quarantined: quarantined.map(({ id }) => id) });
  if (!io.quiet) io.print(`Serving ${kernel.trust.sandbox}; Ctrl-C ends it`);
}

/** The reason for the restart; null when `signal` ends the kernel. */
function restartAsked(kernel: Kernel, signal: AbortSignal): Promise<string | null> {
  let off = (): void => undefined;
  const asked = new Promise<string>((resolve) => (off = kernel.restarts.handle(resolve)));
  return untilAborted(asked, signal).catch(() => (off(), null));
}

const REFUSED = Symbol('refused');

interface ServiceRefused {
  /** Resolves once no service of what ships says that it cannot offer anything; one that offers something after all takes that back. */
  readonly takenBack: () => Promise<void>;
  /** Resolves once one has failed because of that. Its failure is printed by then. */
  readonly reported: Promise<typeof REFUSED>;
}

function serviceRefused({ events, host: { extensions } }: Kernel): ServiceRefused {
  const ready = new Set<string>();
  const refused = new Set<string>();
  let noticed: (() => void) | undefined;
  events.handle('service.ready', ({ extensionId }) => {
    ready.add(extensionId);
    refused.delete(extensionId);
    if (refused.size === 0) noticed?.();
  });
  events.handle('service.refused', ({ extensionId }) => {
    if (!ready.has(extensionId) && !extensions.isForeign(extensionId)) refused.add(extensionId);
  });
  const reported = new Promise<typeof REFUSED>((resolve) =>
    events.handle('extension.failed', ({ extensionId, phase }) => {
      if (phase === 'background' && refused.has(extensionId)) resolve(REFUSED);
    }),
  );
  return {
    async takenBack() {
      if (refused.size > 0) await new Promise<void>((resolve) => (noticed = resolve));
    },
    reported,
  };
}

function openTurns(kernel: Kernel): { ended(limitMs: number, signal: AbortSignal): Promise<void> } {
  const open = new Set<string>();
  let noticed: (() => void) | undefined;
  kernel.events.handle('turn.started', ({ turnId }) => void open.add(turnId));
  kernel.events.handle('turn.ended', ({ turnId }) => {
    open.delete(turnId);
    if (open.size === 0) noticed?.();
  });
  return {
    async ended(limitMs, signal) {
      if (open.size === 0) return;
      const quiet = untilAborted(new Promise<void>((resolve) => (noticed = resolve)), signal).catch(() => undefined);
      await within(systemClock, limitMs, quiet);
    },
  };
}

/** Resolves when the message has been written; a missing supervisor is noticed elsewhere. */
function sendToSupervisor(message: Message): Promise<void> {
  return new Promise((resolve) => {
    if (process.connected) process.send?.(message, undefined, {}, () => resolve());
    else resolve();
  });
}
