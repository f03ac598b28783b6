import { randomBytes } from 'node:crypto';
import type { Writable } from 'node:stream';
import { HOST_VARIABLE } from './process-end.ts';
import { findProgram, SYSTEM_PATH } from './programs.ts';
import { startProcess } from './start-process.ts';

/**
 * Reads the groups to watch until the end of its input, which comes however the kernel ends. Then it kills them, and all processes with the
 * mark. It looks twice, because a process shows no mark while it executes another program.
 */
const SCRIPT = `
groups=
while read -r sign group; do
  if [ "$sign" = + ]; then groups="$groups $group"; continue; fi
  kept=
  for each in $groups; do [ "$each" = "$group" ] || kept="$kept $each"; done
  groups=$kept
done
for group in $groups; do kill -s KILL -- "-$group" 2>/dev/null; done
quiet=0
for round in 1 2 3 4 5 6; do
  found=$(grep -lsF "$1=$2" /proc/[0-9]*/environ)
  [ -n "$found" ] && quiet=0 || quiet=$((quiet + 1))
  [ "$quiet" -lt 2 ] || exit 0
  for file in $found; do pid=\${file#/proc/}; kill -9 "\${pid%/environ}"; done
  sleep 0.2
done`;

/**
 * A small process that, when this one is killed, ends all processes with its marks or in its groups, and then itself. A sandbox does the same, but not in its
 * first milliseconds.
 */
export class Guardian {
  readonly #mark = randomBytes(12).toString('hex');
  /** What is watched, for the next one too: the process may be killed alone. */
  readonly #groups = new Set<number>();
  #running: Promise<Writable> | null = null;

  /** A value of `HOST_VARIABLE` that identifies one process and all that it starts. */
  newMark(): string {
    return `${this.#mark}-${randomBytes(6).toString('hex')}`;
  }

  /** Starts it unless it runs. Rejects `process_not_started`; the next call tries again. */
  async keep(): Promise<void> {
    const shell = findProgram('sh');
    if (shell === null || process.platform !== 'linux') return;
    this.#running ??= this.#start(shell).catch((error: unknown) => {
      this.#running = null;
      throw error;
    });
    await this.#running;
  }

  /** The process group ends with this process too, also what cleared its environment. Returns a function that forgets it. */
  watch(group: number): () => void {
    const say = (sign: '+' | '-') => void this.#running?.then((input) => input.write(`${sign} ${group}\n`));
    this.#groups.add(group);
    say('+');
    return () => {
      this.#groups.delete(group);
      say('-');
    };
  }

  /** Ends all processes with its marks, and the groups. */
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
    for (const group of this.#groups) input.write(`+ ${group}\n`);
    return input;
  }
}
