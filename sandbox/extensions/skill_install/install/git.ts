import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { PithError, type Clock } from 'pith';
import { readProgram } from '@pith/supervised-process';

export interface GitLimits {
  /** Of the repository while it is fetched. */
  readonly bytes: number;
  readonly timeMs: number;
}

/** Of what git prints about a whole repository: a commit, an error. */
const SHORT = 64 * 1024;

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
  // Objects of a few bytes unpack to any size, and a server may list references without end. Not every system has this limit.
  'ulimit -v 2097152 2>/dev/null; home=$1; shift; exec env -i PATH="$PATH"',
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
  constructor(
    private readonly directory: string,
    private readonly home: string,
    private readonly bounds: { readonly clock: Clock; readonly limits: GitLimits; readonly signal: AbortSignal | undefined },
  ) {}

  /** Runs git in the repository; resolves with what it printed. Rejects `git_missing`, `git_failed`, `origin_too_large`, `origin_timeout`. */
  async run(args: readonly string[]): Promise<Buffer> {
    const chunks: Buffer[] = [];
    for await (const chunk of this.stream(args, { mostBytes: SHORT })) chunks.push(chunk);
    return Buffer.concat(chunks);
  }

  /** The same as it is printed. git ends when nobody reads on. */
  async *stream(
    args: readonly string[],
    { input = '', mostBytes }: { readonly input?: string; readonly mostBytes: number },
  ): AsyncGenerator<Buffer, void> {
    const { bytes, timeMs } = this.bounds.limits;
    const large = new AbortController();
    const cancel = this.#watchSize(() => large.abort(tooLarge(`is larger than ${Math.round(bytes / 1024 / 1024)} MB`)));
    const argv = ['/bin/sh', '-c', SHELL, 'git', this.home, ...OPTIONS, '-C', this.directory, ...args];
    const signal = this.bounds.signal === undefined ? large.signal : AbortSignal.any([large.signal, this.bounds.signal]);
    try {
      const { code, errors, passed } = yield* readProgram({ argv, input, mostBytes, mostMs: timeMs, clock: this.bounds.clock }, signal);
      if (passed === 'bytes') throw tooLarge('lists more than a repository of skills does');
      if (passed === 'time')
        throw new PithError('origin_timeout', `the repository took longer than ${timeMs / 1000} s`, {
          cure: 'try again, or install from a folder',
        });
      if (code !== 0) throw failure(code, errors, args);
    } finally {
      cancel();
    }
  }

  #watchSize(exceeded: () => void): () => void {
    let cancel = () => {};
    let done = false;
    const look = async () => {
      const bytes = await sizeOf(this.directory);
      if (done) return;
      if (bytes > this.bounds.limits.bytes) exceeded();
      else cancel = this.bounds.clock.after(200, () => void look());
    };
    cancel = this.bounds.clock.after(200, () => void look());
    return () => {
      done = true;
      cancel();
    };
  }
}

function tooLarge(what: string): PithError {
  return new PithError('origin_too_large', `the repository ${what}`, {
    cure: 'clone it by hand, and install from the folder of the skill',
  });
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
