import { spawn, type ChildProcess } from 'node:child_process';
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { PithError, type Clock } from 'pith';

export interface GitLimits {
  /** Of the repository while it is fetched. */
  readonly bytes: number;
  readonly timeMs: number;
}

export const GIT_LIMITS: GitLimits = { bytes: 200 * 1024 * 1024, timeMs: 120_000 };

/** What a person's machine needs to reach others; nothing else of the environment comes through. */
const KEPT = [
  'SSH_AUTH_SOCK',
  'http_proxy',
  'https_proxy',
  'HTTPS_PROXY',
  'all_proxy',
  'ALL_PROXY',
  'no_proxy',
  'NO_PROXY',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'TMPDIR',
];
/** The shell only builds the environment: it is the one place that sees the inherited one. Arguments reach git as they are. */
const SHELL = [
  'home=$1; shift; exec env -i PATH="$PATH"',
  ...KEPT.map((name) => `\${${name}:+${name}="$${name}"}`),
  'HOME="$home" XDG_CONFIG_HOME="$home" LC_ALL=C GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_ATTR_NOSYSTEM=1',
  'GIT_TERMINAL_PROMPT=0 GIT_ASKPASS= SSH_ASKPASS= GIT_ALLOW_PROTOCOL=http:https:ssh:git:file GIT_NO_REPLACE_OBJECTS=1',
  'GIT_LFS_SKIP_SMUDGE=1 GIT_SSH_COMMAND="ssh -oBatchMode=yes -oPermitLocalCommand=no" git "$@"',
].join(' ');
const OPTIONS = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.symlinks=false',
  'credential.helper=',
  'http.followRedirects=false', // they were followed before
  'submodule.recurse=false',
  'fetch.recurseSubmodules=false',
  'transfer.fsckObjects=true',
  // Old commits with odd dates and times zones are harmless here: only names and contents of files are used.
  'fetch.fsck.zeroPaddedFilemode=ignore',
  'fetch.fsck.badTimezone=ignore',
  'fetch.fsck.missingSpaceBeforeDate=ignore',
  'gc.auto=0',
  'maintenance.auto=false',
].flatMap((option) => ['-c', option]);

/** One throw-away repository. */
export class Git {
  readonly #directory: string;
  readonly #home: string;
  readonly #clock: Clock;
  readonly #limits: GitLimits;
  readonly #signal: AbortSignal | undefined;

  constructor(
    directory: string,
    home: string,
    { clock, limits, signal }: { readonly clock: Clock; readonly limits: GitLimits; readonly signal: AbortSignal | undefined },
  ) {
    this.#directory = directory;
    this.#home = home;
    this.#clock = clock;
    this.#limits = limits;
    this.#signal = signal;
  }

  /** Runs git in the repository; resolves with what it printed. Rejects `git_missing`, `git_failed`, `origin_too_large`, `origin_timeout`. */
  async run(args: readonly string[], input?: string): Promise<Buffer> {
    const chunks: Buffer[] = [];
    for await (const chunk of this.stream(args, input)) chunks.push(chunk);
    return Buffer.concat(chunks);
  }

  async *stream(args: readonly string[], input = ''): AsyncGenerator<Buffer, void> {
    this.#signal?.throwIfAborted();
    const child = spawn('/bin/sh', ['-c', SHELL, 'git', this.#home, ...OPTIONS, '-C', this.#directory, ...args], {
      detached: true, // its own group, so that its helpers end with it
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const exited = new Promise<number | null>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', resolve);
    });
    exited.catch(() => undefined); // reported below
    if (child.pid === undefined) await exited; // it did not start: there are no streams to read
    const errors: string[] = [];
    let problem: unknown = null;
    const end = (why: unknown) => {
      problem ??= why;
      killGroup(child);
    };
    const onAbort = () => end(this.#signal?.reason);
    this.#signal?.addEventListener('abort', onAbort, { once: true });
    const cancel = this.#clock.after(this.#limits.timeMs, () =>
      end(
        new PithError('origin_timeout', `the repository took longer than ${this.#limits.timeMs / 1000} s`, {
          cure: 'try again, or install from a folder',
        }),
      ),
    );
    const watch = this.#watchSize(end);
    child.stderr.setEncoding('utf8').on('data', (text: string) => void (errors.length < 200 && errors.push(text)));
    child.stdin.on('error', () => undefined); // git ended before it read everything: its exit code says why
    child.stdin.end(input);
    try {
      for await (const chunk of child.stdout) yield chunk as Buffer;
      const code = await exited;
      if (problem !== null) throw problem;
      if (code !== 0) throw failure(code, errors.join(''), args);
    } finally {
      cancel();
      watch();
      this.#signal?.removeEventListener('abort', onAbort);
      killGroup(child);
    }
  }

  #watchSize(end: (why: unknown) => void): () => void {
    let cancel = () => {};
    let done = false;
    const look = async () => {
      const bytes = await sizeOf(this.#directory);
      if (done) return;
      if (bytes > this.#limits.bytes) {
        const most = Math.round(this.#limits.bytes / 1024 / 1024);
        end(
          new PithError('origin_too_large', `the repository is larger than ${most} MB`, {
            cure: 'clone it by hand, and install from the folder of the skill',
          }),
        );
      } else cancel = this.#clock.after(200, () => void look());
    };
    cancel = this.#clock.after(200, () => void look());
    return () => {
      done = true;
      cancel();
    };
  }
}

function killGroup(child: ChildProcess): void {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    child.kill('SIGKILL'); // the group is gone already
  }
}

/** What changes meanwhile is counted at the next look. */
async function sizeOf(folder: string): Promise<number> {
  let bytes = 0;
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true }).catch(() => [])) {
    if (!entry.isFile()) continue;
    const stats = await stat(path.join(entry.parentPath, entry.name)).catch(() => null);
    bytes += stats?.size ?? 0;
  }
  return bytes;
}

function failure(code: number | null, errors: string, args: readonly string[]): PithError {
  if (code === 127 && /git/.test(errors))
    return new PithError('git_missing', 'the program git is not installed', {
      cure: 'install git, or install from a folder or a zip archive',
    });
  const said = errors
    .split('\n')
    .map((line) => line.replace(/[^\P{C}\t]/gu, '').trim())
    .filter((line) => line !== '' && !line.startsWith('hint:') && !line.startsWith('remote:'))
    .slice(-3)
    .join(' ');
  const command = args.find((arg, at) => arg !== '-c' && args[at - 1] !== '-c') ?? '';
  return new PithError('git_failed', `git ${command} failed: ${said.slice(0, 500) || `exit ${code}`}`, {
    cure: 'check the address, --ref and your access to it',
  });
}
