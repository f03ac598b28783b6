import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { container, type Program } from './contained.ts';
import type { Writable } from 'node:stream';

const VARIABLE = 'PITH_MCP_SERVER';

/** Waits for its input to end, which it does however Pith ends, and kills all that carry the mark until none is left. */
const SCRIPT = `
cat >/dev/null
for round in 1 2 3 4 5; do
  found=$(grep -lsF "$1=$2" /proc/[0-9]*/environ)
  [ -n "$found" ] || exit 0
  for file in $found; do pid=\${file#/proc/}; kill -9 "\${pid%/environ}"; done
  sleep 0.2
done`;

/** Ends the servers that were started here, and what they started, also when Pith is killed. Where there is no /proc, only an ordered end does. */
export class Guardian {
  readonly #mark = randomBytes(12).toString('hex');
  #child: ChildProcess | null = null;
  #container: Promise<Program | null> | undefined;

  /** What servers are started behind; looked for once. */
  container(searchPath: string): Promise<Program | null> {
    return (this.#container ??= container(searchPath));
  }

  /** What a server must carry in its environment. */
  keep(searchPath: string): Record<string, string> {
    if (process.platform !== 'linux') return {};
    this.#child ??= this.#start(searchPath); // where there is no room for it, the next server asks again
    return { [VARIABLE]: this.#mark };
  }

  /** When the servers should have ended by themselves. */
  end(): void {
    this.#child?.stdin?.end();
  }

  #start(searchPath: string): ChildProcess | null {
    const child = spawn('sh', ['-c', SCRIPT, 'pith-guardian', VARIABLE, this.#mark], {
      detached: true,
      env: { PATH: searchPath },
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    const gone = (): void => void (this.#child = null);
    child.on('error', gone).on('exit', gone);
    const { stdin } = child as { readonly stdin?: Writable & { unref?(): void } };
    if (!stdin) return null; // it did not start
    stdin.on('error', gone);
    child.unref();
    stdin.unref?.();
    return child;
  }
}
