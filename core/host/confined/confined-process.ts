import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Readable, Writable } from 'node:stream';
import type { ConfinedOutcome, ConfinedProgram } from '../../contract/confined.ts';
import { PithError } from '../../contract/errors.ts';
import { keepGuardian, newMark } from '../process/guardian.ts';
import { recordHost } from '../process/host-records.ts';
import { watchMemory } from '../process/memory-watch.ts';
import { HOST_VARIABLE, killHost, sweepRemains } from '../process/process-end.ts';
import { familyOf, processEntry } from '../process/process-table.ts';
import { startProcess } from '../process/start-process.ts';
import { dieFirst, diesWithUs, endOf } from '../process/started.ts';
import { systemClock } from '../system-clock.ts';
import { readBounded } from './bounded-output.ts';
import { coverInherited } from './inherited-descriptors.ts';
import { confinedArguments, environmentOf, limited, MOST_PROCESSES, TEMPORARY } from './confined-command.ts';

export interface ConfinedHost {
  /** Absolute path of the kernel's state: there it is noted what must be ended should the kernel die. */
  readonly dataDirectory: string;
  /** Of this only the language reaches a program. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

const MEMORY_MB = 512;
const ARGUMENTS = 3;
const STATUS = 4;
const STDIO = ['ignore', 'pipe', 'pipe', 'pipe', 'pipe'] as const;

/** Runs it and waits until nothing is left of it. `bubblewrap`: what holds it; null: nothing does. */
export async function runConfined(
  host: ConfinedHost,
  program: ConfinedProgram,
  bubblewrap: string | null,
  signal?: AbortSignal,
): Promise<ConfinedOutcome> {
  const temporary = bubblewrap === null ? mkdtempSync(path.join(os.tmpdir(), 'pith-run-')) : TEMPORARY;
  try {
    if (bubblewrap === null) mkdirSync(path.join(temporary, 'home'));
    return await untilGone(host, program, bubblewrap, environmentOf(program, temporary, host.env), signal);
  } finally {
    if (bubblewrap === null) rmSync(temporary, { recursive: true, force: true });
  }
}

async function untilGone(
  host: ConfinedHost,
  program: ConfinedProgram,
  bubblewrap: string | null,
  env: Readonly<Record<string, string>>,
  signal: AbortSignal | undefined,
): Promise<ConfinedOutcome> {
  const marker = newMark();
  if (bubblewrap === null) await keepGuardian();
  const argv = bubblewrap === null ? diesWithUs(limited(program)) : heldBy(bubblewrap, program);
  const covered = coverInherited(STDIO);
  const child = await startProcess(argv, {
    cwd: bubblewrap === null ? program.cwd : '/',
    env: { ...(bubblewrap === null ? env : {}), [HOST_VARIABLE]: marker },
    detached: true,
    stdio: covered.stdio,
  }).finally(() => covered.close());
  const pid = child.pid as number;
  const [out, err, status] = [child.stdio[1] as Readable, child.stdio[2] as Readable, child.stdio[STATUS] as Readable];
  const told = textOf(status);
  const input = child.stdio[ARGUMENTS] as Writable;
  input.on('error', () => undefined); // it did not start: its end tells
  input.end(bubblewrap === null ? '' : `${confinedArguments(program, env).join('\0')}\0`);

  let stopped: string | null = null;
  let timedOut = false;
  let family: readonly (readonly [number, string])[] = [];
  const stop = (why: string): void => {
    if (stopped !== null) return;
    stopped = why;
    family = familyOf(pid).flatMap((each) => {
      const entry = processEntry(each);
      return entry === null ? [] : [[each, entry.startTime] as const];
    });
    killHost(pid);
  };
  const output = readBounded([out, err], program.maxOutputBytes, () => stop(`its output was longer than ${program.maxOutputBytes} bytes`));
  const cancel = systemClock().after(program.timeoutMs, () => {
    timedOut = stopped === null;
    stop(`it took longer than ${program.timeoutMs / 1000} s`);
  });
  const abort = (): void => stop('it was aborted');
  signal?.addEventListener('abort', abort, { once: true });
  const forget = recordHost(host.dataDirectory, pid, marker);
  dieFirst(pid);
  const { memoryMb = MEMORY_MB, maxProcesses = MOST_PROCESSES } = program;
  const watch = watchMemory(pid, memoryMb, systemClock(), stop, maxProcesses);
  try {
    const { code, signal: by } = await endOf(child);
    if (bubblewrap === null) await sweepRemains(pid, marker, watch.seen);
    await goneAll(family);
    if (signal?.aborted) throw new PithError('aborted', 'the program was aborted and ended', { cause: signal.reason });
    const stderr = output.text(err);
    const exit = stopped === null ? exitOf(code, by) : null;
    if (stopped === null && bubblewrap !== null && !told().includes('exit-code'))
      throw new PithError('process_ended', `the program could not be started: ${lastLine(stderr)}`);
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

/** The first process of a namespace ends after all others of it. */
async function goneAll(family: readonly (readonly [number, string])[]): Promise<void> {
  for (let waited = 0; waited < GONE_MS; waited += LOOK_MS) {
    if (!family.some(([pid, startTime]) => processEntry(pid)?.startTime === startTime)) return;
    await systemClock().sleep(LOOK_MS);
  }
}
