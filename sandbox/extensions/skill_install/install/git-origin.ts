import path from 'node:path';
import { mkdir, readdir, stat } from 'node:fs/promises';
import { PithError, type Clock } from 'pith';
import { guardedFetch, publicAddresses } from '@pith/guarded-fetch';
import { LIMITS, refused, type Listing, type OriginEntry } from './entry.ts';
import type { Origin } from './origin.ts';
import { runProgram } from '@pith/supervised-process';

/** Of names: a tree of trees that are the same lists more than any memory holds. */
const LISTED_BYTES = 32 * 1024 * 1024;

interface Blob extends OriginEntry {
  readonly object: string;
}

interface GitPlace {
  readonly staging: string;
  readonly clock: Clock;
  /** Addresses that a person named; others must be public. */
  readonly allow: readonly string[];
  /** Of the repository, which is fetched as one file. */
  readonly mostBytes?: number;
}

/** One commit of a repository, without its history, in `staging`. No file of it is checked out: contents come from the objects. */
export async function openGitOrigin(
  { location, ref }: Origin,
  { staging, clock, allow, mostBytes = MOST_BYTES }: GitPlace,
  signal?: AbortSignal,
): Promise<Listing> {
  const address = await pinnedGitAddress(location, allow, signal);
  const [directory, home] = [path.join(staging, 'repository'), path.join(staging, 'home')];
  await mkdir(directory, { recursive: true });
  await mkdir(home, { recursive: true });
  const git = new Git(directory, home, { clock, signal, mostBytes });
  await git.run(['init', '-q', '--bare', '--template=']);
  const kept = address.options.flatMap((option) => ['-c', option]);
  await git.run([...kept, 'fetch', '-q', '--depth=1', '--no-tags', '--no-recurse-submodules', '--', address.location, ref ?? 'HEAD']);
  const commit = (await git.run(['rev-parse', '--verify', '-q', 'FETCH_HEAD^{commit}'])).toString().trim();
  const listed = await git.run(['ls-tree', '-r', '-l', '-z', '--full-tree', commit], { mostBytes: LISTED_BYTES });
  const lines = listed.toString().split('\0').slice(0, -1);
  if (lines.length > LIMITS.listed) throw tooManyFiles();
  return {
    entries: lines.map(blobOf),
    commit,
    name: { text: nameOf(location), sure: false },
    read: (wanted) => contentsOf(git, wanted as readonly Blob[]),
  };
}

/** `<mode> <type> <object> <size>\t<path>` */
function blobOf(line: string): Blob {
  const tab = line.indexOf('\t');
  const [mode = '', type = '', object = '', size = ''] = line.slice(0, tab).split(/ +/);
  const kind = type === 'blob' && mode.startsWith('100') ? 'file' : mode === '120000' ? 'link' : 'other';
  return { path: line.slice(tab + 1), kind, size: Number(size) || 0, executable: mode === '100755', object };
}

/** More than a line of `cat-file` has. */
const AROUND_BLOB = 256;
/** Bytes that are read together. */
const READ_BYTES = 8 * 1024 * 1024;

/** `git cat-file --batch`: a line `<object> blob <size>`, the bytes, a line end, for each. */
async function* contentsOf(git: Git, wanted: readonly Blob[]): ReturnType<Listing['read']> {
  for (let from = 0, to = 0; from < wanted.length; from = to) {
    let mostBytes = 0;
    do mostBytes += wanted[to++]!.size + AROUND_BLOB;
    while (to < wanted.length && mostBytes < READ_BYTES);
    const some = wanted.slice(from, to);
    const read = await git.run(['cat-file', '--batch'], { input: some.map(({ object }) => `${object}\n`).join(''), mostBytes });
    let at = 0;
    for (const entry of some) {
      const head = `${entry.object} blob ${entry.size}\n`;
      if (read.toString('latin1', at, at + head.length) !== head)
        throw new PithError('git_failed', `git cat-file gives something else than ${entry.path}`, { cure: 'try again' });
      at += head.length + entry.size + 1;
      yield { entry, chunks: one(read.subarray(at - 1 - entry.size, at - 1)) };
    }
  }
}

async function* one(chunk: Uint8Array): AsyncGenerator<Uint8Array, void> {
  yield chunk;
}

function nameOf(location: string): string {
  return (
    location
      .replace(/[?#].*$/, '')
      .replace(/\/+$/, '')
      .split(/[/:]/)
      .at(-1) ?? ''
  ).replace(/\.git$/i, '');
}

const PROBE_MS = 30_000;
const ADVERTISEMENT = '/info/refs?service=git-upload-pack';

/** The address from which git fetches, and the options that keep it to the hosts that were checked. */
interface GitAddress {
  readonly location: string;
  readonly options: readonly string[];
}

/**
 * git resolves names and follows redirects by itself, so both are done before: an http address is followed to its end as the guard allows
 * it, and git gets the addresses of its host and the order to follow no further. Of ssh and git addresses the host must be public; their
 * connection cannot be pinned, and what answers must speak their protocol. `allow`: addresses that a person named, wherever they lie.
 */
export async function pinnedGitAddress(location: string, allow: readonly string[], signal?: AbortSignal): Promise<GitAddress> {
  const origin = originOf(location);
  if (origin === null) return { location, options: [] };
  const isAllowed = allow.some((one) => originOf(one) === origin);
  if (!/^https?:/.test(origin)) {
    if (!isAllowed) await publicHost(new URL(origin).hostname, signal);
    return { location, options: [] };
  }
  const end = await endOf(location, isAllowed ? [origin] : [], signal);
  if (end === null && !isAllowed) await publicHost(new URL(origin).hostname, signal);
  const { hostname, port, protocol, origin: last } = new URL(end ?? location);
  const pin =
    isAllowed && last === origin
      ? []
      : [
          `http.curloptResolve=${hostname}:${port || (protocol === 'https:' ? '443' : '80')}:${(await publicHost(hostname, signal)).join(',')}`,
        ];
  return { location: end ?? location, options: pin };
}

/** Where the repository lies when all redirects were followed; null: it cannot be reached from here, as behind a proxy that git knows. */
async function endOf(location: string, allow: readonly string[], signal?: AbortSignal): Promise<string | null> {
  const base = location.replace(/\/+$/, '');
  try {
    const answer = await guardedFetch({ allow, timeoutMs: PROBE_MS })(`${base}${ADVERTISEMENT}`, signal === undefined ? {} : { signal });
    await answer.body?.cancel();
    return answer.url.endsWith(ADVERTISEMENT) ? answer.url.slice(0, -ADVERTISEMENT.length) : location;
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof PithError && error.code === 'address_refused') throw error;
    return null;
  }
}

/** A name that cannot be resolved is no public one: ssh may know it by another. */
async function publicHost(host: string, signal?: AbortSignal): Promise<readonly string[]> {
  try {
    return await publicAddresses(host, signal);
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof PithError) throw error;
    throw new PithError('address_refused', `${host} cannot be found`, {
      cause: error,
      cure: 'check the connection; if it is a name of your own, install from it again by typing its address, or set skills.private_origins',
    });
  }
}

/** Protocol, host and port; null for what lies on this machine. `user@host:path` is an ssh address. */
export function originOf(location: string): string | null {
  const [, host] = /^[\w.-]+@([\w.-]+):(?!\/\/)/.exec(location) ?? [];
  if (host !== undefined) return `ssh://${host}`;
  if (!URL.canParse(location)) return null;
  const { protocol, host: place } = new URL(location);
  return protocol === 'file:' || place === '' ? null : `${protocol}//${place}`;
}

/** Of what git prints about a whole repository: a commit, an error. */
const SHORT = 64 * 1024;

const MOST_BYTES = 200 * 1024 * 1024;
/** In which a shell counts the size of a file. */
const BLOCK = 512;
const MOST_MS = 120_000;

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
  'ulimit -v 2097152 2>/dev/null; ulimit -f $1; home=$2; shift 2; exec env -i PATH="$PATH"',
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
  'fetch.unpackLimit=1', // one file, however few objects there are
  'transfer.fsckObjects=true',
  // Old commits with odd dates and times zones are harmless here: only names and contents of files are used.
  'fetch.fsck.zeroPaddedFilemode=ignore',
  'fetch.fsck.badTimezone=ignore',
  'fetch.fsck.missingSpaceBeforeDate=ignore',
  'gc.auto=0',
  'maintenance.auto=false',
].flatMap((option) => ['-c', option]);

/** One throw-away repository. */
class Git {
  constructor(
    private readonly directory: string,
    private readonly home: string,
    private readonly bounds: { readonly clock: Clock; readonly signal: AbortSignal | undefined; readonly mostBytes: number },
  ) {}

  /** Runs git in the repository; resolves with what it printed. Rejects `git_missing`, `git_failed`, `origin_too_large`, `origin_timeout`. */
  async run(
    args: readonly string[],
    { input = '', mostBytes = SHORT }: { readonly input?: string; readonly mostBytes?: number } = {},
  ): Promise<Buffer> {
    const { clock, signal, mostBytes: largest } = this.bounds;
    const argv = ['/bin/sh', '-c', SHELL, 'git', `${largest / BLOCK}`, this.home, ...OPTIONS, '-C', this.directory, ...args];
    const { code, errors, passed, output } = await runProgram({ argv, input, mostBytes, mostMs: MOST_MS, clock }, signal);
    if (passed === 'bytes') throw tooManyFiles();
    if (passed === 'time')
      throw new PithError('origin_timeout', `the repository took longer than ${MOST_MS / 1000} s`, {
        cure: 'try again, or install from a folder',
      });
    if (code === 0) return output;
    throw (await this.#largestPack()) >= largest ? tooLarge(largest) : failure(code, errors, args);
  }

  /** The system ends what writes a larger file, and git does not say so. */
  async #largestPack(): Promise<number> {
    const folder = path.join(this.directory, 'objects/pack');
    const names = await readdir(folder).catch(() => []); // git did not come so far
    return Math.max(0, ...(await Promise.all(names.map(async (name) => (await stat(path.join(folder, name))).size))));
  }
}

function tooLarge(bytes: number): PithError {
  return new PithError('origin_too_large', `the repository is larger than ${bytes / 1024 / 1024} MB`, { cure: CLONE });
}

function tooManyFiles(): PithError {
  return refused(`it contains more than ${LIMITS.listed} files, or their names are longer than ${LISTED_BYTES / 1024 / 1024} MB`, CLONE);
}

const CLONE = 'clone it by hand, and install from the folder of the skill';

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
