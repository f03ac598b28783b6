import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { findProgram, SYSTEM_PATH } from './programs.ts';
import { HOST_VARIABLE } from './process-end.ts';

/** The beginning of every marker that this process gives to its hosts. */
export const KERNEL_MARK = randomBytes(12).toString('hex');

/** Waits for its input to end, which it does however the kernel ends, and kills all that carry the mark until none is left. */
const SCRIPT = `
cat >/dev/null
for round in 1 2 3 4 5; do
  found=$(grep -lsF "$1=$2" /proc/[0-9]*/environ)
  [ -n "$found" ] || exit 0
  for file in $found; do pid=\${file#/proc/}; kill -9 "\${pid%/environ}"; done
  sleep 0.2
done`;

let guardian: ChildProcess | null = null;

/**
 * A small process beside the kernel that ends its hosts, and what they started, when the kernel is killed. One for all hosts; for
 * those that no sandbox ends. It ends itself with the kernel.
 */
export function keepGuardian(): void {
  const shell = findProgram('sh');
  if (guardian || shell === null || process.platform !== 'linux') return;
  const child = spawn(shell, ['-c', SCRIPT, 'pith-guardian', HOST_VARIABLE, KERNEL_MARK], {
    detached: true,
    env: { PATH: SYSTEM_PATH },
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  guardian = child;
  const gone = (): void => {
    if (guardian === child) guardian = null;
  };
  child.on('error', gone).on('exit', gone);
  child.stdin.on('error', gone);
  child.unref();
  (child.stdin as unknown as { unref(): void }).unref();
}
