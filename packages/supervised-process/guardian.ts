import { randomBytes } from 'node:crypto';
import type { Writable } from 'node:stream';
import { HOST_VARIABLE } from './process-end.ts';
import { findProgram, SYSTEM_PATH } from './programs.ts';
import { startProcess } from './start-process.ts';

/**
 * Waits for its input to end, which it does however the kernel ends, and kills all that carry the mark until none is left. It looks twice:
 * a process shows no mark while it becomes another program.
 */
const SCRIPT = `
cat >/dev/null
quiet=0
for round in 1 2 3 4 5 6; do
  found=$(grep -lsF "$1=$2" /proc/[0-9]*/environ)
  [ -n "$found" ] && quiet=0 || quiet=$((quiet + 1))
  [ "$quiet" -lt 2 ] || exit 0
  for file in $found; do pid=\${file#/proc/}; kill -9 "\${pid%/environ}"; done
  sleep 0.2
done`;

/** A small process that ends what carries its marks when this process is killed, and then itself. A sandbox ends so too, but not in its first milliseconds. */
export class Guardian {
  readonly #mark = randomBytes(12).toString('hex');
  #running: Promise<Writable> | null = null;

  /** The value of `HOST_VARIABLE` by which one process, and all that it starts, are found. */
  newMark(): string {
    return `${this.#mark}-${randomBytes(6).toString('hex')}`;
  }

  /** Starts it where it does not run. Rejects `process_not_started`; the next call tries again. */
  async keep(): Promise<void> {
    const shell = findProgram('sh');
    if (shell === null || process.platform !== 'linux') return;
    this.#running ??= this.#start(shell).catch((error: unknown) => {
      this.#running = null;
      throw error;
    });
    await this.#running;
  }

  /** Ends what still carries its marks. */
  end(): void {
    void this.#running?.then((input) => input.end());
  }

  async #start(shell: string): Promise<Writable> {
    const child = await startProcess([shell, '-c', SCRIPT, 'pith-guardian', HOST_VARIABLE, this.#mark], {
      detached: true,
      env: { PATH: SYSTEM_PATH },
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    const gone = (): void => void (this.#running = null);
    const input = child.stdin as Writable & { unref(): void };
    child.on('exit', gone);
    input.on('error', gone);
    child.unref();
    input.unref();
    return input;
  }
}
