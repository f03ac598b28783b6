import type { Writable } from 'node:stream';
import { randomBytes } from 'node:crypto';
import { findProgram, SYSTEM_PATH } from './programs.ts';
import { HOST_VARIABLE } from './process-end.ts';
import { startProcess } from '../kernel/index.ts';

/** The beginning of every mark that this process gives to what it starts. */
const KERNEL_MARK = randomBytes(12).toString('hex');

/** The mark of one process, by which it and all that it starts are found. */
export function newMark(): string {
  return `${KERNEL_MARK}-${randomBytes(6).toString('hex')}`;
}

/** Waits for its input to end, which it does however the kernel ends, and kills all that carry the mark until none is left. */
const SCRIPT = `
cat >/dev/null
for round in 1 2 3 4 5; do
  found=$(grep -lsF "$1=$2" /proc/[0-9]*/environ)
  [ -n "$found" ] || exit 0
  for file in $found; do pid=\${file#/proc/}; kill -9 "\${pid%/environ}"; done
  sleep 0.2
done`;

let guardian: Promise<void> | null = null;

/**
 * A small process beside the kernel that ends its hosts, and what they started, when the kernel is killed. One for all hosts; for
 * those that no sandbox ends. It ends itself with the kernel. Rejects `process_not_started`: the next host asks for it again.
 */
export async function keepGuardian(): Promise<void> {
  const shell = findProgram('sh');
  if (shell === null || process.platform !== 'linux') return;
  guardian ??= start(shell).catch((error: unknown) => {
    guardian = null;
    throw error;
  });
  await guardian;
}

async function start(shell: string): Promise<void> {
  const child = await startProcess([shell, '-c', SCRIPT, 'pith-guardian', HOST_VARIABLE, KERNEL_MARK], {
    detached: true,
    env: { PATH: SYSTEM_PATH },
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const gone = (): void => void (guardian = null);
  const input = child.stdin as Writable & { unref(): void };
  child.on('exit', gone);
  input.on('error', gone);
  child.unref();
  input.unref();
}
