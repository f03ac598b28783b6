import { spawn } from 'node:child_process';
import type { Duplex } from 'node:stream';
import type { ErrorCode } from '../../contract/errors.ts';
import type { Manifest } from '../../contract/index.ts';

/** What the process of one extension is started with. */
export interface LaunchSpec {
  readonly extensionId: string;
  /** Absolute path of the file that it runs. */
  readonly entry: string;
  /** Absolute path of the extension's folder: its working directory. */
  readonly directory: string;
  /** Absolute path of the folder that it may write; made when it is first used. */
  readonly dataDirectory: string;
  /** Absolute path of the sandbox; the project is its parent. */
  readonly sandbox: string;
  /** Absolute path of Pith's own package. */
  readonly packageRoot: string;
  /** What its manifest asks for. */
  readonly permissions: Manifest['permissions'];
  /** Told each line that it writes to its output or its error output. */
  output(line: string): void;
}

/** Why a process is no more, in words that end a sentence: `it ended with exit code 1`. */
export interface Ending {
  readonly code: ErrorCode;
  readonly message: string;
}

/** A process that has been started. */
export interface HostProcess {
  readonly pid: number;
  /** Frames go both ways through this; it is descriptor 3 of the process. */
  readonly socket: Duplex;
  /** Resolves when the process and all that it started are gone. Never rejects. */
  readonly ended: Promise<Ending>;
  /** Ends it and all that it started, at once. The first reason given is the one that `ended` tells. */
  kill(reason: Ending): void;
}

const HEAP_MB = 512;

/** Starts a process in a group of its own, with a cleared environment. */
export function launchHost(spec: LaunchSpec): HostProcess {
  const child = spawn(process.execPath, [`--max-old-space-size=${HEAP_MB}`, '--no-warnings', spec.entry], {
    cwd: spec.directory,
    env: {},
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  });
  const socket = child.stdio[3] as Duplex;
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      for (const line of text.split('\n')) if (line !== '') spec.output(line);
    });
  }
  let reason: Ending | undefined;
  const killGroup = (): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // it has ended by itself
    }
  };
  const ended = new Promise<Ending>((resolve) => {
    child.once('error', (error) =>
      resolve(reason ?? { code: 'provider_failed', message: `its process could not be started: ${error.message}` }),
    );
    child.once('exit', (code, signal) => {
      killGroup();
      const how = signal === null ? `with exit code ${code}` : `by the signal ${signal}`;
      resolve(reason ?? { code: 'provider_failed', message: `its process ended ${how}` });
    });
  });
  return {
    pid: child.pid ?? 0,
    socket,
    ended,
    kill(why) {
      reason ??= why;
      killGroup();
    },
  };
}
