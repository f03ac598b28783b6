import { AsyncLocalStorage } from 'node:async_hooks';
import { PithError } from '../../contract/index.ts';
import { printable } from '@pith/plain-text';

/** Whose code is running. `report` belongs to one kernel, so several kernels in a process do not mix. */
export interface Owner {
  readonly extensionId: string;
  /** Pith's own code, by the digest of its build. */
  readonly isShipped: boolean;
  /** Of the message that its code serves now. */
  readonly correlationId?: string;
  report(code: 'stray_error' | 'exit_refused', error: unknown): void;
}

const owners = new AsyncLocalStorage<Owner | undefined>();

/** Of Pith's own extensions, by id: a stray error of theirs is attributed by the file names in its stack. */
const shipped = new Map<string, Owner>();

/**
 * Runs code of an extension: what escapes it later, from a timer or a forgotten promise, is laid at its door. Without a context of its
 * own for Pith's own code: on Node 20 the first one makes every promise of the process dearer, for good.
 */
export function runAs<T>(owner: Owner, run: () => T, correlationId?: string): T {
  if (!owner.isShipped) return owners.run(correlationId === undefined ? owner : { ...owner, correlationId }, run);
  shipped.set(owner.extensionId, owner);
  return runOutside(run);
}

/** Of the message that running code of an extension serves, where that is known: Pith's own code names it itself. */
export function currentCorrelation(): string | undefined {
  return owners.getStore()?.correlationId;
}

/** The build names entries and chunks of an extension by its id; an edited one runs from its sources. */
const OWN_FILE =
  /[\\/](?:dist[\\/][^\\/]+[\\/]ext[\\/]|dist[\\/][^\\/]+[\\/]chunks[\\/](?=[a-z0-9_]+\.)|sandbox[\\/]extensions[\\/])([a-z0-9_]+)[\\/.]/;

function ownerOf(error: unknown): Owner | undefined {
  const stack = error instanceof Error ? (error.stack ?? '') : '';
  const [, id = ''] = OWN_FILE.exec(stack) ?? [];
  return shipped.get(id);
}

/** Runs code of the kernel that an extension happened to trigger. */
export function runOutside<T>(run: () => T): T {
  return owners.getStore() === undefined ? run() : owners.run(undefined, run);
}

/** Of every kernel that guards the process: each takes its own secrets out. */
const guards = new Set<(text: string) => string>();
let restore: (() => void) | undefined;
/** Where all code belongs to one extension. */
let owning: Owner | undefined;

/**
 * While there is at least one guard, stray errors of extensions are reported instead of ending the process, and extensions cannot end it.
 * `otherwise`: who answers for errors of which nothing tells whose they are. Without it they end the process as without a guard, in a text that went through `redact`. Returns the guard's off.
 */
export function guardProcess(redact: (text: string) => string = String, otherwise?: Owner): () => void {
  if (otherwise) owning = otherwise;
  const guard = (text: string) => redact(text);
  if (guards.size === 0) restore = install();
  guards.add(guard);
  return () => {
    if (guards.delete(guard) && guards.size === 0) restore?.();
  };
}

function install(): () => void {
  const onException = (error: unknown) => handle(error, 'uncaughtException');
  const onRejection = (error: unknown) => handle(error, 'unhandledRejection');
  process.on('uncaughtException', onException);
  process.on('unhandledRejection', onRejection);
  const undo = [guardCall('exit'), guardCall('abort'), guardCall('reallyExit'), guardKill()];
  return () => {
    process.off('uncaughtException', onException);
    process.off('unhandledRejection', onRejection);
    for (const step of undo) step();
    shipped.clear();
  };
}

function handle(error: unknown, event: 'uncaughtException' | 'unhandledRejection'): void {
  const owner = owners.getStore() ?? ownerOf(error) ?? owning;
  if (owner) return runOutside(() => owner.report('stray_error', error));
  // Another listener answers for the process; without one it ends as Node would end it.
  if (process.listenerCount(event) > 1) return;
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.stderr.write(`${printable([...guards].reduce((clean, redact) => redact(clean), text))}\n`);
  process.exit(1);
}

type Ending = 'exit' | 'abort' | 'reallyExit';
type Endings = Record<Ending, (...args: unknown[]) => unknown>;

function guardCall(name: Ending): () => void {
  const host = process as unknown as Endings;
  const original = host[name];
  const guarded = function (this: unknown, ...args: unknown[]): unknown {
    refuse(`process.${name}`);
    return original.apply(process, args);
  };
  host[name] = guarded;
  return () => {
    if (host[name] === guarded) host[name] = original;
  };
}

function guardKill(): () => void {
  const original = process.kill;
  const guarded = (pid: number, signal?: string | number): true => {
    if (reachesPith(pid) && signal !== 0) refuse('process.kill of Pith itself');
    return original.call(process, pid, signal);
  };
  process.kill = guarded;
  return () => {
    if (process.kill === guarded) process.kill = original;
  };
}

/** Also as one of a group or of all processes; Node takes a number in a text too. */
function reachesPith(pid: unknown): boolean {
  const { pid: own, ppid: parent } = process;
  return [own, 0, -1, -own, -parent].includes(Number(pid));
}

function refuse(what: string): void {
  const owner = owners.getStore();
  if (!owner) return;
  const error = new PithError('exit_refused', `${what} was refused: an extension must not end the process`, {
    cure: 'return or throw instead',
  });
  owners.run(undefined, () => owner.report('exit_refused', error));
  throw error;
}
