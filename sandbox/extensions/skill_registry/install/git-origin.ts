import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { PithError, type Clock } from 'pith';
import { type Listing, type OriginEntry, refused } from './entry.ts';
import { gitWay } from './address.ts';
import { Git, GIT_LIMITS, type GitLimits } from './git.ts';
import type { Origin } from './origin.ts';

/** So many entries are looked at to find the skills among them. */
const LOOKED_AT = 50_000;

interface Blob extends OriginEntry {
  readonly object: string;
}

interface GitPlace {
  readonly staging: string;
  readonly clock: Clock;
  /** Addresses that a person named; others must be public. */
  readonly allow: readonly string[];
  readonly limits?: GitLimits;
}

/** One commit of a repository, without its history, in `staging`. No file of it is checked out: contents come from the objects. */
export async function openGitOrigin(
  { location, ref }: Origin,
  { staging, clock, allow, limits = GIT_LIMITS }: GitPlace,
  signal?: AbortSignal,
): Promise<Listing> {
  const way = await gitWay(location, allow, signal);
  const [directory, home] = [path.join(staging, 'repository'), path.join(staging, 'home')];
  await mkdir(directory, { recursive: true });
  await mkdir(home, { recursive: true });
  const git = new Git(directory, home, clock, limits, signal);
  await git.run(['init', '-q', '--bare', '--template=']);
  const kept = way.options.flatMap((option) => ['-c', option]);
  await git.run([...kept, 'fetch', '-q', '--depth=1', '--no-tags', '--no-recurse-submodules', '--', way.location, ref ?? 'HEAD']);
  const commit = (await git.run(['rev-parse', '--verify', '-q', 'FETCH_HEAD^{commit}'])).toString().trim();
  const listed = await git.run(['ls-tree', '-r', '-l', '-z', '--full-tree', commit]);
  const entries = listed.toString('utf8').split('\0').filter(Boolean).map(blobOf);
  if (entries.length > LOOKED_AT)
    throw refused(`${location} holds more than ${LOOKED_AT} files`, 'clone it by hand, and install from the folder of the skill');
  return {
    entries,
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

/** `git cat-file --batch`: a line `<object> blob <size>`, the bytes, a line end, for each. */
async function* contentsOf(git: Git, wanted: readonly Blob[]): ReturnType<Listing['read']> {
  if (wanted.length === 0) return;
  const source = git.stream(['cat-file', '--batch'], `${wanted.map(({ object }) => object).join('\n')}\n`);
  const bytes = new ByteReader(source);
  try {
    for (const entry of wanted) {
      const [object, type, size] = (await bytes.line()).split(' ');
      if (object !== entry.object || type !== 'blob' || Number(size) !== entry.size)
        throw new PithError('git_failed', `git cat-file gives something else than ${entry.path}`, { cure: 'try again' });
      yield { entry, chunks: bytes.take(entry.size) };
      await bytes.line();
    }
  } finally {
    await source.return();
  }
}

/** Takes lines and counted bytes from a stream. What was taken must be used up before the next. */
class ByteReader {
  readonly #source: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterable<Buffer>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  async line(): Promise<string> {
    for (;;) {
      const end = this.#rest.indexOf(10);
      if (end >= 0) {
        const line = this.#rest.subarray(0, end).toString('utf8');
        this.#rest = this.#rest.subarray(end + 1);
        return line;
      }
      this.#rest = Buffer.concat([this.#rest, await this.#next()]);
    }
  }

  async *take(count: number): AsyncGenerator<Uint8Array, void> {
    for (let left = count; left > 0;) {
      if (this.#rest.length === 0) this.#rest = await this.#next();
      const chunk = this.#rest.subarray(0, left);
      this.#rest = this.#rest.subarray(chunk.length);
      left -= chunk.length;
      yield chunk;
    }
  }

  async #next(): Promise<Buffer> {
    const { done, value } = await this.#source.next();
    if (done) throw new PithError('git_failed', 'git ended before it gave everything', { cure: 'try again' });
    return value;
  }
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
