import os from 'node:os';
import path from 'node:path';
import { lstatSync, mkdirSync, mkdtempSync, rmSync, closeSync, openSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { isBelow } from '@pith/safe-files';
import { Guardian } from './guardian.ts';
import { oncePromised, systemClock } from '@pith/promises';
import { watchMemory } from './memory-watch.ts';
import { HOST_VARIABLE, killHost, sweepRemains } from './process-end.ts';
import { names, processEntry, read } from './process-table.ts';
import { ProcessFailed, startProcess } from './start-process.ts';
import { raiseOomScore, killWithParent, endOf, yieldProcessor } from './started.ts';
import { findProgram, installCommand, SYSTEM_PATH } from './programs.ts';
import { ownCaches, passedOn, searchFolders, systemSettings, toolsOf } from './user-tools.ts';
import { probeSandboxing, BASE_READ_ONLY, namespaces, system, type Sandboxing } from './bubblewrap.ts';

/** A path that a confined program sees, or a path that appears at another place (`at`; only in a sandbox). Absolute. */
export type ConfinedPath = string | { readonly from: string; readonly at: string };

/** One confined program: what it sees besides the system's programs and libraries, and its limits. */
export interface ConfinedProgram {
  /** The program's absolute path, and its arguments. */
  readonly argv: readonly string[];
  /** Absolute; one of the places below, or within one. */
  readonly cwd: string;
  readonly readOnly: readonly ConfinedPath[];
  readonly writable?: readonly ConfinedPath[];
  /** Besides PATH, HOME, TMPDIR and LANG. HOME and TMPDIR (`/tmp` in a sandbox) are private, limited in size and removed afterwards. */
  readonly env?: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** The limit of both outputs together; more output ends the program. */
  readonly maxOutputBytes: number;
  /** The limit of the program and all that it starts, as far as the system enforces it; default 512. */
  readonly memoryMb?: number;
  /** The most processes at a time; default 128. */
  readonly maxProcesses?: number;
  /**
   * Covered parts of the places above: `empty` files and folders have no content, others cannot be changed. Absolute; only in a sandbox.
   */
  readonly covered?: readonly CoveredPath[];
  /** Default false: a sandbox has no network. */
  readonly network?: boolean;
  /** Runs it as the person would from their own shell. */
  readonly user?: ConfinedUser;
  /**
   * Called with the output as it arrives, both streams in order. With it, too much output does not end the program: the outcome has the
   * start.
   */
  onOutput?(text: string): void;
  /** `none`: a person chose to run it as themselves. Time and output are limited, nothing is hidden. */
  readonly sandbox: 'required' | 'none';
}

export interface CoveredPath {
  readonly at: string;
  readonly as: 'read_only' | 'empty';
  /** For `empty`: the folders that lead to it cannot be moved. For the others that always holds. */
  readonly isFixed?: boolean;
}

/** What a person's own command expects: their PATH and the tools on it, also below their home, and their language. */
export interface ConfinedUser {
  /** HOME. In a sandbox, a folder in memory at this path, which shows the tools that are installed in it. */
  readonly home: string;
  /** The largest file that it may write, and the size of its temporary folder, in MiB. */
  readonly fileMb: number;
  /** The folder of caches that its tools write instead of the person's, kept for the next command; only in a sandbox. Absent: no caches. */
  readonly caches?: string;
}

export interface ConfinedOutcome {
  /** null: a limit ended it. A signal counts as 128 plus its number. */
  readonly exit: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** The output exceeded its limit: the rest was not read. */
  readonly truncated: boolean;
  readonly timedOut: boolean;
  /** The limit that ended it, as the end of a sentence; null: it ended by itself. */
  readonly stopped: string | null;
}

/** A program's place in the system. */
export interface ProgramPlace {
  /** Absolute; null: it is not installed. */
  readonly path: string | null;
  /** The command that installs a package of that name here. */
  readonly install: string;
}

/** Runs programs without network, environment and other people's files, and leaves nothing behind. */
export interface ConfinedPrograms {
  /** null: programs can be run; else why not, with a cure. Determined once. */
  unavailable(): Promise<{ readonly why: string; readonly cure: string } | null>;
  /** Finds a program in the system's own folders, which every sandbox shows, then in `folders`. Ignores the search path. */
  locate(name: string, folders?: readonly string[]): Promise<ProgramPlace>;
  /** Resolves when it and all that it started are gone. Rejects `sandbox_unavailable`, `aborted`, and `process_ended` if not started. */
  run(program: ConfinedProgram, signal?: AbortSignal): Promise<ConfinedOutcome>;
  /** Aborts running programs and waits for their end. */
  close(): Promise<void>;
}

export interface ConfinedHost {
  /** Only its language reaches a program; default: this process's environment. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** Neither the system nor the search path of this process has it, so no command does. */
export function isNowhere(name: string): boolean {
  return findProgram(name, searchFolders(process.env['PATH'])) === null;
}

const guardian = new Guardian();
const MEMORY_MB = 512;
const ARGUMENTS = 3;
const STATUS = 4;
const STDIO = ['ignore', 'pipe', 'pipe', 'pipe', 'pipe'] as const;

/** Runs the program and waits until nothing of it is left. `bubblewrap`: its path; null: no sandbox. */
export async function runConfined(
  host: ConfinedHost,
  program: ConfinedProgram,
  bubblewrap: string | null,
  signal?: AbortSignal,
): Promise<ConfinedOutcome> {
  const temporary = bubblewrap === null ? mkdtempSync(path.join(os.tmpdir(), 'pith-run-')) : TEMPORARY;
  try {
    if (bubblewrap === null) mkdirSync(path.join(temporary, 'home'));
    return await untilGone(host, program, { bubblewrap, env: environmentOf(program, temporary, host.env ?? process.env) }, signal);
  } finally {
    if (bubblewrap === null) rmSync(temporary, { recursive: true, force: true });
  }
}

async function untilGone(
  host: ConfinedHost,
  program: ConfinedProgram,
  { bubblewrap, env }: { readonly bubblewrap: string | null; readonly env: Readonly<Record<string, string>> },
  signal: AbortSignal | undefined,
): Promise<ConfinedOutcome> {
  const marker = guardian.newMark();
  await guardian.keep(); // in a sandbox too: bubblewrap ends with us only some milliseconds after its start
  const argv = bubblewrap === null ? killWithParent(limited(program)) : heldBy(bubblewrap, program);
  const covered = coverInherited(STDIO);
  const child = await startProcess(argv, {
    cwd: bubblewrap === null ? program.cwd : '/',
    env: { ...(bubblewrap === null ? env : {}), [HOST_VARIABLE]: marker },
    detached: true,
    stdio: covered.stdio,
  }).finally(() => covered.close());
  const pid = child.pid as number;
  const [out, err, status] = [child.stdio[1] as Readable, child.stdio[2] as Readable, child.stdio[STATUS] as Readable];
  const reported = textOf(status);
  const input = child.stdio[ARGUMENTS] as Writable;
  input.on('error', () => undefined); // it did not start: `endOf` reports that
  input.end(bubblewrap === null ? '' : `${confinedArguments(program, env).join('\0')}\0`);

  let stopped: string | null = null;
  let timedOut = false;
  let family: readonly (readonly [number, string])[] = [];
  const stop = (why: string): void => {
    if (stopped !== null) return;
    stopped = why;
    // First of all, because a program that starts others without end goes on meanwhile.
    family = killHost(pid).flatMap((each) => {
      const entry = processEntry(each);
      return entry === null ? [] : [[each, entry.startTime] as const];
    });
  };
  const { onOutput, maxOutputBytes } = program;
  const output = readBounded([out, err], maxOutputBytes, {
    shown: onOutput,
    exceeded: () => stop(`its output was longer than ${maxOutputBytes} bytes`),
  });
  const cancel = systemClock.after(program.timeoutMs, () => {
    timedOut = stopped === null;
    stop(`it took longer than ${program.timeoutMs / 1000} s`);
  });
  const abort = (): void => stop('it was aborted');
  signal?.addEventListener('abort', abort, { once: true });
  if (signal?.aborted) abort(); // aborted during the start
  const forget = guardian.watch(pid);
  raiseOomScore(pid);
  yieldProcessor(pid);
  const { memoryMb = MEMORY_MB, maxProcesses = MOST_PROCESSES } = program;
  const watch = watchMemory(pid, memoryMb, stop, maxProcesses);
  try {
    const { code, signal: by } = await endOf(child);
    if (bubblewrap === null) await sweepRemains(pid, marker, watch.seen);
    await goneAll(family);
    if (signal?.aborted) throw new ProcessFailed('aborted', 'the program was aborted and ended', { cause: signal.reason });
    const stderr = output.text(err);
    const exit = stopped === null ? exitOf(code, by) : null;
    if (stopped === null && bubblewrap !== null && !reported().includes('exit-code'))
      throw new ProcessFailed('process_ended', `the program could not be started: ${lastLine(stderr)}`);
    return { exit, stdout: output.text(out), stderr, truncated: output.truncated, timedOut, stopped };
  } finally {
    cancel();
    watch.stop();
    forget();
    signal?.removeEventListener('abort', abort);
    for (const stream of [out, err, status]) stream.destroy();
  }
}

function heldBy(bubblewrap: string, program: ConfinedProgram): readonly string[] {
  return [bubblewrap, '--args', `${ARGUMENTS}`, '--json-status-fd', `${STATUS}`, '--', ...limited(program)];
}

function exitOf(code: number | null, by: NodeJS.Signals | null): number {
  return code ?? 128 + (by === null ? 0 : os.constants.signals[by]);
}

const LONGEST_STATUS = 4096;

function textOf(stream: Readable): () => string {
  let text = '';
  stream
    .on('error', () => undefined)
    .on('data', (chunk: Buffer) => void (text = `${text}${chunk.toString('latin1')}`.slice(-LONGEST_STATUS)));
  return () => text;
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1) ?? '';
}

const GONE_MS = 2000;
const LOOK_MS = 5;

/** A namespace's first process ends after all others of it. */
async function goneAll(family: readonly (readonly [number, string])[]): Promise<void> {
  for (let waited = 0; waited < GONE_MS; waited += LOOK_MS) {
    if (!family.some(([pid, startTime]) => processEntry(pid)?.startTime === startTime)) return;
    await systemClock.sleep(LOOK_MS);
  }
}

/** The output of two streams, up to a number of bytes for both together. */
export interface BoundedOutput {
  /** The text of one stream so far. */
  text(stream: Readable): string;
  readonly truncated: boolean;
}

interface OutputReader {
  /** Called once, when the limit is exceeded. */
  exceeded(): void;
  /** Called with all output: then reading goes on beyond the limit, and `exceeded` is not called. */
  readonly shown?: ((text: string) => void) | undefined;
}

/** Keeps output up to the limit, and stops reading there unless `shown` is given. */
export function readBounded(streams: readonly Readable[], most: number, { shown, exceeded }: OutputReader): BoundedOutput {
  const chunks = new Map<Readable, Buffer[]>(streams.map((stream) => [stream, []]));
  let left = most;
  let truncated = false;
  for (const stream of streams) {
    stream.on('error', () => undefined); // its process is gone
    const decoder = new TextDecoder();
    stream.on('data', (chunk: Buffer) => {
      shown?.(decoder.decode(chunk, { stream: true }));
      if (truncated) return;
      chunks.get(stream)?.push(chunk.length > left ? chunk.subarray(0, left) : chunk);
      truncated = chunk.length > left;
      left = Math.max(0, left - chunk.length);
      if (!truncated || shown !== undefined) return;
      for (const each of streams) each.destroy();
      exceeded();
    });
  }
  return {
    // A character that the limit cuts is left out.
    text: (stream) => new TextDecoder().decode(Buffer.concat(chunks.get(stream) ?? []), { stream: true }),
    get truncated() {
      return truncated;
    },
  };
}

const CLOSE_ON_EXEC = 0o2000000;

/** `stdio` for a program, which replaces descriptors that Pith's own parent left open by empty ones. Call `close` after the start. */
export function coverInherited<Each>(stdio: readonly Each[]): { readonly stdio: (Each | 'ignore' | number)[]; close(): void } {
  const inherited = inheritedDescriptors().filter((descriptor) => descriptor >= stdio.length);
  if (inherited.length === 0) return { stdio: [...stdio], close: () => undefined };
  const empty = openSync('/dev/null', 'r');
  const covered: (Each | 'ignore' | number)[] = [...stdio];
  for (let at = stdio.length; at <= Math.max(...inherited); at += 1) covered.push(inherited.includes(at) ? empty : 'ignore');
  return { stdio: covered, close: () => closeSync(empty) };
}

/** The descriptors above the three standard ones that Pith's own parent left open, and that our programs would inherit. */
function inheritedDescriptors(): readonly number[] {
  return names('/proc/self/fd')
    .map(Number)
    .filter((descriptor) => descriptor > 2 && isInherited(descriptor));
}

/** False for one that has been closed. */
function isInherited(descriptor: number): boolean {
  const flags = /^flags:\s*(\d+)/mu.exec(read(`/proc/self/fdinfo/${descriptor}`))?.[1];
  return flags !== undefined && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0;
}

/** `probe`: whether bubblewrap works here, asked once. */
export function createConfinedPrograms(
  host: ConfinedHost = {},
  probe: () => Promise<Sandboxing> = oncePromised(probeSandboxing),
): ConfinedPrograms {
  const closing = new AbortController();
  const running = new Set<Promise<unknown>>();
  const start = (program: ConfinedProgram, bubblewrap: string | null, signal?: AbortSignal): Promise<ConfinedOutcome> => {
    const stop = signal === undefined ? closing.signal : AbortSignal.any([closing.signal, signal]);
    if (stop.aborted) throw new ProcessFailed('aborted', 'the program was not started: it was aborted', { cause: stop.reason });
    const run = runConfined(host, program, bubblewrap, stop);
    running.add(run);
    return run.finally(() => running.delete(run));
  };
  return {
    async unavailable() {
      const found = await probe();
      return found.available ? null : { why: found.why, cure: found.cure };
    },
    locate: async (name, folders) => ({ path: findProgram(name, folders), install: installCommand(name) }),
    async run(program, signal) {
      if (program.sandbox === 'none') return start(program, null, signal);
      const found = await probe();
      if (!found.available) throw new ProcessFailed('sandbox_unavailable', `the program was not run: ${found.why}`, { cure: found.cure });
      return start(program, found.program, signal);
    },
    async close() {
      closing.abort();
      await Promise.allSettled(running);
    },
  };
}

/** The temporary folder of a program in a sandbox. */
const TEMPORARY = '/tmp';

const MOST_PROCESSES = 128;
/** Threads count as processes; a Node process has a dozen. */
const THREADS_EACH = 16;
const MIB = 1024 * 1024;
const LARGEST_FILE_MB = 64;

/**
 * The arguments of bubblewrap before the program. They are passed by a descriptor, so that the process list does not show environment
 * values.
 */
function confinedArguments(program: ConfinedProgram, env: Readonly<Record<string, string>>): readonly string[] {
  const { cwd, readOnly, writable = [], network = false, user } = program;
  const covered = seen(program.covered ?? []);
  return [
    ...namespaces(network),
    ...system(),
    ...(user === undefined ? ['--dir', env['HOME'] ?? TEMPORARY] : placesOfUser(user, env, network)),
    ...readOnly.flatMap((place) => bind('--ro-bind', place)),
    ...writable.flatMap((place) => bind('--bind', place)),
    ...foldersTo(covered, writable).flatMap((place) => bind('--bind-try', place)),
    ...covered.toSorted((a, b) => a.at.length - b.at.length).flatMap(coverOf),
    ...BASE_READ_ONLY,
    ...Object.entries(env).flatMap(([name, value]) => ['--setenv', name, value]),
    '--chdir',
    cwd,
  ];
}

function placesOfUser({ home, fileMb, caches }: ConfinedUser, env: Readonly<Record<string, string>>, network: boolean): readonly string[] {
  const places = { home, env, caches: caches ?? null, network };
  const own = ownCaches(places);
  const tools = toolsOf(
    places,
    own.map(({ at }) => at),
  );
  const mounts = [
    ...own.map((place) => ({ at: place.at, args: bind('--bind', place) })),
    ...[...systemSettings(), ...tools].map((at) => ({ at, args: bind('--ro-bind-try', at) })),
  ];
  return [
    ...[TEMPORARY, home].flatMap((at) => memoryFolder(at, fileMb)),
    ...mounts.sort((a, b) => a.at.length - b.at.length).flatMap(({ args }) => args), // a folder before what is in it
  ];
}

/** Within an empty folder there is nothing to cover, and no mount point. */
function seen(covered: readonly CoveredPath[]): readonly CoveredPath[] {
  const empty = covered.filter(({ as }) => as === 'empty');
  return covered.filter(({ at }) => !empty.some((place) => isBelow(at, place.at)));
}

function memoryFolder(at: string, sizeMb: number): readonly string[] {
  return ['--size', `${sizeMb * MIB}`, '--tmpfs', at];
}

/**
 * The writable folders that lead to a part that must not change, outermost first. Each is mounted onto itself, because a mount point cannot
 * be moved: otherwise a program could move the folder and create another with changed content.
 */
function foldersTo(covered: readonly CoveredPath[], writable: readonly ConfinedPath[]): readonly string[] {
  const roots = writable.filter((place) => typeof place === 'string');
  const found = new Set<string>();
  for (const { at, as, isFixed = as === 'read_only' } of covered) {
    if (!isFixed) continue; // it stays empty wherever it is moved
    for (let folder = path.dirname(at); roots.some((root) => isBelow(folder, root)); folder = path.dirname(folder)) found.add(folder);
  }
  return [...found].sort((a, b) => a.length - b.length);
}

/** A file that is gone needs no cover, and an empty cover would create it. */
function coverOf({ at, as }: CoveredPath): readonly string[] {
  const stats = lstatSync(at, { throwIfNoEntry: false });
  if (stats === undefined || stats.isSymbolicLink()) return [];
  if (as === 'read_only') return ['--ro-bind-try', at, at];
  return stats.isDirectory() ? ['--tmpfs', at, '--remount-ro', at] : ['--ro-bind', '/dev/null', at];
}

/** The command with the limits that the system itself enforces, where it can. */
function limited(program: ConfinedProgram): readonly string[] {
  const { argv, sandbox, maxProcesses = MOST_PROCESSES, user } = program;
  const prlimit = process.platform === 'linux' ? findProgram('prlimit') : null;
  if (prlimit === null) return argv;
  const counts = sandbox === 'required' && countsInNamespace();
  const limits = [
    '--core=0',
    `--fsize=${(user?.fileMb ?? LARGEST_FILE_MB) * MIB}`,
    ...(counts ? [`--nproc=${maxProcesses * THREADS_EACH}`] : []),
  ];
  return [prlimit, ...limits, '--', ...argv];
}

function environmentOf(
  program: ConfinedProgram,
  temporary: string,
  env: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const { user } = program;
  const systemFolders = [...SYSTEM_PATH.split(path.delimiter), path.dirname(process.execPath)];
  const folders = [...new Set([...(user === undefined ? [] : searchFolders(env['PATH'])), ...systemFolders])];
  const own = { PATH: folders.join(path.delimiter), LANG: env['LANG'] ?? 'C.UTF-8', ...(user === undefined ? {} : passedOn(env)) };
  return { ...program.env, ...own, HOME: user?.home ?? path.join(temporary, 'home'), TMPDIR: temporary };
}

function bind(how: string, place: ConfinedPath): readonly string[] {
  return typeof place === 'string' ? [how, place, place] : [how, place.from, place.at];
}

/** Since 5.14, Linux counts a user's processes separately in each user namespace; before, all of the user's processes would count. */
function countsInNamespace(): boolean {
  const [major = 0, minor = 0] = os.release().split('.').map(Number);
  return major > 5 || (major === 5 && minor >= 14);
}
