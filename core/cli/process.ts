import { type OpenKernel, runCli } from './run.ts';
import { EXIT } from './terminal/report.ts';
import { writeError } from './terminal/terminal-io.ts';
import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import { isatty } from 'node:tty';

/** The exit code of a process that was ended. A reader that closes the pipe early is not a failure. */
const ENDED = { SIGINT: EXIT.interrupted, SIGTERM: EXIT.terminated, SIGHUP: EXIT.hungUp, EPIPE: EXIT.done } as const;

/** The longest time that a process may take to end. */
const END_MS = 10_000;

/** Runs this process's command line and ends the process. */
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
      if (error.code === 'EPIPE') end('EPIPE'); // the reader closed the pipe
      else if (stream === process.stdout && !unwritten) {
        unwritten = true;
        writeError({ error: process.stderr }, `pith: standard output cannot be written: ${error.message}`);
      }
    });
  }
  process.on('exit', () => {
    if (letGoOfLost(terminals) && ended === undefined) process.exitCode = EXIT.hungUp; // the end of the input may arrive before the signal
  });
  setInterval(() => undefined, END_MS); // keeps the process alive, so that a wait that never ends is cut at the limit instead of ending silently
  const code = await runCli(
    {
      argv: process.argv.slice(2),
      cwd: process.cwd(),
      env: process.env,
      stdio: {
        get input() {
          return process.stdin; // opened on first use
        },
        output: process.stdout,
        error: process.stderr,
      },
      openKernel,
    },
    abort.signal,
  );
  await Promise.all([flushed(process.stdout), flushed(process.stderr)]);
  await new Promise((resolve) => setImmediate(resolve)); // a file reports only now that it cannot be written
  // What an extension left running must not keep a finished command alive.
  process.exit(ended !== undefined ? ENDED[ended] : unwritten ? code || EXIT.failed : code);
}

/** Standard output is for the command, perhaps one JSON value; other output of extensions goes to the error stream. */
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

/** The standard streams that are terminals. Call while the terminal exists. */
function openTerminals(): readonly number[] {
  return STANDARD.filter((descriptor) => isatty(descriptor));
}

/**
 * Detaches from terminals that are gone; true where there was one. At its end Node restores a terminal's modes, and aborts where that
 * fails: with a trace, and possibly a core dump of all its memory.
 */
function letGoOfLost(terminals: readonly number[]): boolean {
  const lost = terminals.filter((descriptor) => !isatty(descriptor)); // `isatty` is false for a terminal that is gone
  for (const descriptor of lost) {
    closeSync(descriptor);
    openSync(devNull, 'r+'); // takes the descriptor's number at once, so that later output cannot reach a file that another thread opens
  }
  return lost.length > 0;
}
