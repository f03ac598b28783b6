import { type OpenKernel, runCli } from './run.ts';
import { EXIT } from './terminal/report.ts';
import { writeError } from './terminal/terminal-io.ts';
import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import { isatty } from 'node:tty';

/** The exit code of a process that something ended. A reader that has seen enough is no failure. */
const ENDED = { SIGINT: EXIT.interrupted, SIGTERM: EXIT.terminated, SIGHUP: EXIT.hungUp, EPIPE: EXIT.done } as const;

/** Longest time that a process asked to end takes for it. */
const END_MS = 10_000;

/** Runs the command line of this process and ends it. */
export async function runProcess(openKernel: OpenKernel): Promise<void> {
  keepOutputClean();
  const terminals = openTerminals();
  const abort = new AbortController();
  let ended: keyof typeof ENDED | undefined;
  let unwritten = false;
  const end = (why: keyof typeof ENDED) => {
    if (ended === 'SIGINT' && why === 'SIGINT') process.exit(EXIT.interrupted); // asked twice
    ended ??= why;
    abort.abort(new DOMException(`ended by ${why}`, 'AbortError'));
    setTimeout(() => process.exit(ENDED[why]), END_MS).unref();
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => end(signal));
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') end('EPIPE'); // the reader has seen enough
      else if (stream === process.stdout && !unwritten) {
        unwritten = true;
        writeError({ error: process.stderr }, `pith: standard output cannot be written: ${error.message}`);
      }
    });
  }
  process.on('exit', () => {
    if (letGoOfLost(terminals) && ended === undefined) process.exitCode = EXIT.hungUp; // its end may be seen before the signal
  });
  setInterval(() => undefined, END_MS); // whatever waits for something that never comes is cut, not left by a process without work
  const code = await runCli(
    {
      argv: process.argv.slice(2),
      cwd: process.cwd(),
      env: process.env,
      stdio: {
        get input() {
          return process.stdin; // opened by the first who asks for it
        },
        output: process.stdout,
        error: process.stderr,
      },
      openKernel,
    },
    abort.signal,
  );
  await Promise.all([flushed(process.stdout), flushed(process.stderr)]);
  await new Promise((resolve) => setImmediate(resolve)); // a file reports only then that it cannot be written
  // What an extension left running must not keep a finished command alive.
  process.exit(ended !== undefined ? ENDED[ended] : unwritten ? code || EXIT.failed : code);
}

/** Standard output is for the command, perhaps one JSON value; what extensions print besides is for people. */
function keepOutputClean(): void {
  const aside = console.error.bind(console);
  console.log = console.info = console.debug = aside;
}

function flushed(stream: NodeJS.WriteStream): Promise<void> {
  if (stream.writableLength === 0 || stream.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    stream.once('error', () => resolve());
    stream.write('', () => resolve());
  });
}

const STANDARD = [0, 1, 2];

/** To be called while the terminal is there: the standard streams that are one. */
function openTerminals(): readonly number[] {
  return STANDARD.filter((descriptor) => isatty(descriptor));
}

/**
 * Lets go of those terminals that are gone; true where there was one. At its end Node gives a terminal the modes that it had, and aborts
 * where that fails: with a trace, and where cores are kept with all of its memory on disk.
 */
function letGoOfLost(terminals: readonly number[]): boolean {
  const lost = terminals.filter((descriptor) => !isatty(descriptor)); // one that is gone answers no question, and is none to `isatty`
  for (const descriptor of lost) {
    closeSync(descriptor);
    openSync(devNull, 'r+'); // takes the number at once: nothing that is still printed may reach a file which another thread opens
  }
  return lost.length > 0;
}
