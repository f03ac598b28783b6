import {
  type ExitOf,
  startProcess,
  HOST_VARIABLE,
  killHost,
  sweepRemains,
  Guardian,
  watchMemory,
  type Sandboxing,
  raiseOomScore,
  killWithParent,
  endOf,
} from '@pith/supervised-process';
import { existsSync, statSync } from 'node:fs';
import os, { constants } from 'node:os';
import path from 'node:path';
import type { Duplex, Readable } from 'node:stream';
import { askedPath, credentialPlaces, type Manifest } from '../trust/index.ts';
import { codeOf } from '../contract/index.ts';
import { elapsed } from '@pith/promises';
import type { ErrorCode, Folders } from '../kernel/index.ts';
import { skillFolders, stateFolder } from '@pith/safe-files';

import { capOutput } from '@pith/process-rpc';
import { packagesAbove, sandboxArguments, withoutHome } from './sandboxing.ts';

/** Why a process is no more, in words that end a sentence: `its process ended with exit code 1`. */
export interface Ending {
  readonly code: ErrorCode;
  readonly message: string;
  /** What to do about it, as an imperative. */
  readonly cure?: string;
}

/** What the process of one extension is started with. Without a project it is the folder around the sandbox, without a home folder that of this process. */
export interface LaunchSpec extends Pick<Folders, 'sandbox' | 'project' | 'home'> {
  readonly extensionId: string;
  /** Absolute path of the file that it runs. */
  readonly entry: string;
  /** Absolute path of the extension's folder. */
  readonly directory: string;
  /** Absolute path of the folder that it may write, which is its working directory; made when it is missing. */
  readonly dataDirectory: string;
  /** Absolute path of the folder that holds all data. */
  readonly stateDirectory: string;
  /** Absolute path of Pith's own package. */
  readonly packageRoot: string;
  /** What its manifest asks for. */
  readonly permissions: Omit<Manifest['permissions'], 'agents'>;
  /** Folders that some extension may write: no path that leads through one is opened. */
  readonly writable?: readonly string[];
  /** Of it and all that it starts, in MB of memory in use; half of it is the limit of its heap. Absent: 512. */
  readonly memoryMb?: number;
  /** What `probeSandboxing` found; absent: it runs without a sandbox. */
  readonly sandboxing?: Sandboxing | null;
  /** Of this only the search path, the time zone and the language reach it. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Told each line that it writes to its output or its error output, up to some 64 KB a second. */
  output(line: string): void;
}

/** A process that has been started. */
export interface HostProcess {
  readonly pid: number;
  /** Frames go both ways through this; it is descriptor 3 of the process. */
  readonly socket: Duplex;
  /** Resolves when the process and all that it started are gone. Never rejects. */
  readonly ended: Promise<Ending>;
  /** Says whether calls are open: its memory is looked at more often then. It counts as working from the start. */
  working(isWorking: boolean): void;
  /** Ends it and all that it started, at once. `ended` resolves to the first reason given, unless it had ended by then. */
  kill(reason: Ending): void;
}

export const DEFAULT_MEMORY_MB = 512;
const guardian = new Guardian();
const SEARCH_PATH = '/usr/local/bin:/usr/bin:/bin';

/**
 * Starts a process in its own group, with a cleared environment and, where there is one, in a sandbox. Its memory and output
 * are watched. It does not outlive this process. Rejects `process_not_started`.
 */
export async function launchHost(spec: LaunchSpec): Promise<HostProcess> {
  const memoryMb = spec.memoryMb ?? DEFAULT_MEMORY_MB;
  const marker = guardian.newMark();
  const { dataDirectory, stateDirectory } = spec;
  stateFolder(stateDirectory, ...path.relative(stateDirectory, dataDirectory).split(path.sep)).make();
  const isSandboxed = spec.sandboxing?.available === true;
  await guardian.keep(); // in a sandbox too: bubblewrap ends with us only some milliseconds after its start
  const child = await startProcess(commandOf(spec, heapMb(memoryMb), marker), {
    cwd: dataDirectory,
    env: { ...environmentOf(spec), [HOST_VARIABLE]: marker },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  });
  const pid = child.pid as number;
  const socket = child.stdio[3] as Duplex;
  socket.on('error', () => undefined); // the process is gone: `ended` says so
  let reason: Ending | undefined;
  const kill = (why: Ending): void => {
    if (child.exitCode !== null || child.signalCode !== null) return; // it ended by itself, whatever is seen of that later
    reason ??= why;
    killHost(pid);
  };
  const overLimit = (message: string, cure: string): void => kill({ code: 'process_limit', message, cure });

  let lastWords = '';
  for (const stream of [child.stdout, child.stderr] as Readable[]) {
    capOutput(stream, {
      now: elapsed,
      line: (text) => {
        lastWords = `${lastWords}\n${text}`.slice(-4096);
        spec.output(text);
      },
      flood: (message) => overLimit(message, 'print less'),
    });
  }

  const forget = guardian.watch(pid);
  raiseOomScore(pid);
  const watch = watchMemory(pid, memoryMb, (message) => overLimit(message, `use less, or set extensions.${spec.extensionId}.memory_mb`));
  const ended = endOf(child).then(async (how) => {
    watch.stop();
    if (!isSandboxed) await sweepRemains(pid, marker, watch.seen);
    forget();
    return reason ?? endingOf(how, lastWords, spec);
  });
  return { pid, socket, ended, working: (isWorking) => watch.working(isWorking), kill };
}

function heapMb(memoryMb = DEFAULT_MEMORY_MB): number {
  return Math.max(32, Math.floor(memoryMb / 2));
}

function commandOf(spec: LaunchSpec, heap: number, marker: string): readonly string[] {
  const argv = [process.execPath, `--max-old-space-size=${heap}`, '--no-warnings', spec.entry];
  if (spec.sandboxing?.available === true) {
    const project = spec.project ?? path.dirname(spec.sandbox);
    const state = spec.stateDirectory;
    const home = spec.home ?? os.homedir();
    const visible = [
      ...withoutHome(spec.sandbox, home),
      ...partsOf(spec.packageRoot),
      spec.directory,
      path.dirname(spec.entry),
      ...[path.join(state, '.cache', 'bundles')].filter(isOpenable),
      ...packagesAbove(spec.packageRoot),
      ...packagesAbove(spec.directory),
    ];
    const ownData = path.join(spec.packageRoot, 'sandbox', 'data');
    const kept = { sandbox: spec.sandbox, home, dataDirectory: state, writable: spec.writable };
    const hidden = [...(ownData === state ? [] : [ownData]), ...credentialPlaces(kept)].filter((place) => existsSync(place));
    // Looked at again: a link on the way may lead elsewhere than when a person agreed.
    const given = (how: 'read' | 'write') =>
      spec.permissions[how].map((file) => askedPath(how, file, kept)).filter(({ real, never }) => never === null && isOpenable(real));
    const [read, write] = [given('read'), given('write')];
    const permissions = { ...spec.permissions, read: read.map(({ real }) => real), write: write.map(({ real }) => real) };
    const links = [...read, ...write].filter(({ named, real }) => named !== real);
    const readOnly = skillFolders({ sandbox: spec.sandbox, project, home });
    const folders = { dataDirectory: spec.dataDirectory, stateDirectory: state, project, home };
    const places = { ...folders, visible, hidden, readOnly, permissions, links };
    return [spec.sandboxing.program, ...sandboxArguments(places, { ...environmentOf(spec), [HOST_VARIABLE]: marker }, argv)];
  }
  return killWithParent(argv);
}

/** What bubblewrap would not start with is left out: below a file, a loop of links, a name that is too long. What is not there yet it leaves out itself. */
function isOpenable(file: string): boolean {
  try {
    statSync(file);
    return true;
  } catch (error) {
    return codeOf(error, '') === 'ENOENT';
  }
}

/** What of Pith's package an extension needs. Not all of it: the package may be a project, too, as while Pith itself is changed. */
function partsOf(packageRoot: string): readonly string[] {
  const parts = ['package.json', 'dist', 'node_modules', 'sandbox/extensions', 'sandbox/agents', 'sandbox/skills'];
  return parts.map((part) => path.join(packageRoot, part));
}

function environmentOf({ env = {} }: LaunchSpec): Record<string, string> {
  const { PATH = SEARCH_PATH, TZ, LANG } = env;
  return { PATH, ...(TZ === undefined ? {} : { TZ }), ...(LANG === undefined ? {} : { LANG }) };
}

/** Why a process ended that nobody ended, in words. `lastWords`: the end of what it printed. */
function endingOf({ code, signal }: ExitOf, lastWords: string, { extensionId, memoryMb, sandboxing }: LaunchSpec): Ending {
  if (/heap out of memory|invalid (?:array|table) size|Zone Allocation failed/iu.test(lastWords)) {
    const cure = `keep less in memory, or set extensions.${extensionId}.memory_mb`;
    return { code: 'process_limit', message: `its heap was full at ${heapMb(memoryMb)} MB`, cure };
  }
  // A sandbox reports a signal as an exit code of 128 and its number.
  const name = signal ?? (sandboxing?.available === true ? signalOf(code) : undefined);
  const how = name === undefined ? `ended with exit code ${code}` : `was ended by the signal ${name}`;
  return { code: 'process_ended', message: `its process ${how}` };
}

function signalOf(code: number | null): string | undefined {
  return code === null || code <= 128 ? undefined : Object.entries(constants.signals).find(([, number]) => number === code - 128)?.[0];
}
