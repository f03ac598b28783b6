import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { PithError } from 'pith';

/** Where skills are fetched from, as the lock file keeps it. */
export interface Origin {
  readonly kind: 'folder' | 'git' | 'zip';
  /** An absolute path, or an address without passwords. */
  readonly location: string;
  /** Branch, tag or commit; absent: what the repository has as its head. */
  readonly ref?: string;
  /** The folder in it that was asked for, or that the skill was found in. */
  readonly path?: string;
}

/** Tells what a person means. Throws `origin_unknown`, and `usage` where a ref makes no sense. Looks at the file system, changes nothing. */
export function originOf(given: string, ref: string | undefined, directory: string): Origin {
  if (ref !== undefined) checkRef(ref);
  const origin = isAddress(given) ? addressOf(given, ref) : (placeOf(given, ref, directory) ?? repositoryOf(given, ref));
  if (origin.ref !== undefined) checkRef(origin.ref);
  if (ref !== undefined && origin.kind !== 'git')
    throw new PithError('usage', '--ref is for git repositories', { where: given, cure: 'leave it out' });
  return origin;
}

/** Throws for an origin that `originOf` would not have made. */
export function checkOrigin({ kind, location, ref }: Origin): void {
  if (ref !== undefined) checkRef(ref);
  if (kind !== 'git' && path.isAbsolute(location)) return;
  const made = addressOf(location, ref);
  if (made.kind !== kind || made.location !== location) throw unknown(location, 'it is not an address');
}

/** Throws `usage` for what is no plain name of a branch, tag or commit. */
export function checkRef(ref: string): void {
  const plain = /^[\p{L}\p{N}_][\p{L}\p{N}_./@+#=-]{0,199}$/u.test(ref);
  if (!plain || /\.\.|\/\/|@\{|\/\.|\.lock(?:\/|$)|[./]$/.test(ref))
    throw new PithError('usage', `--ref ${JSON.stringify(ref)} is not a name of a branch, tag or commit`, { cure: 'write the name alone' });
}

const PROTOCOL = /^(?:git\+)?(https?|ssh|git|file):\/\//i;
/** `user@host:path`, as ssh has it. */
const SCP = /^[\w.-]+@[\w.-]+:(?!\/\/)[^\s]+$/;

function isAddress(given: string): boolean {
  return PROTOCOL.test(given) || SCP.test(given) || /^[a-z][a-z0-9+.-]*:/i.test(given);
}

function addressOf(given: string, ref: string | undefined): Origin {
  if (given.length > 2000 || /[\s\p{Cc}]/u.test(given)) throw unknown(given, 'it is not an address');
  if (SCP.test(given)) return withRef(given, ref);
  if (!PROTOCOL.test(given)) throw unknown(given, 'its protocol is not among http, https, ssh, git and file');
  const plain = given.replace(/^git\+/i, '');
  const address = URL.canParse(plain) ? new URL(plain) : null;
  if (address === null || (address.protocol !== 'file:' && address.hostname === '') || address.hostname.startsWith('-'))
    throw unknown(given, 'it is not an address');
  address.password = '';
  if (address.protocol.startsWith('http')) address.username = '';
  if (/^https?:$/.test(address.protocol) && /\.zip$/i.test(address.pathname)) return { kind: 'zip', location: address.href };
  const page = /^(\/[^/]+\/[^/]+?)(?:\/-)?\/tree\/([^/]+)(?:\/(.+?))?\/?$/.exec(address.pathname);
  if (page === null || !address.protocol.startsWith('http')) return withRef(address.href, ref);
  const [, repository = '', branch = '', folder] = page.map((part) => (part === undefined ? part : decode(part, given)));
  checkRef(branch);
  address.pathname = repository;
  address.hash = ''; // a heading of the page
  return { ...git(address.href, ref ?? branch), ...(folder === undefined ? {} : { path: folder }) };
}

/** `owner/repo`, as GitHub names repositories, with `@ref` or `#ref`. A folder of that name counts first. */
function repositoryOf(given: string, ref: string | undefined): Origin {
  const [, name, written] = /^([A-Za-z0-9][A-Za-z0-9-]{0,38}\/(?!\.+(?:[@#]|$))[\w.-]{1,100})(?:[@#](.+))?$/.exec(given) ?? [];
  if (name === undefined) throw unknown(given, 'there is no such folder or file');
  return git(`https://github.com/${name.replace(/\.git$/, '')}`, oneRef(given, written, ref));
}

/** The address of a repository, which may end in `#ref`. */
function withRef(given: string, ref: string | undefined): Origin {
  const cut = given.indexOf('#');
  if (cut < 0) return git(given, ref);
  return git(given.slice(0, cut), oneRef(given, decode(given.slice(cut + 1), given), ref));
}

function oneRef(given: string, written: string | undefined, ref: string | undefined): string | undefined {
  if (written === undefined || written === ref) return ref;
  if (ref === undefined) return written;
  throw new PithError('usage', `--ref ${JSON.stringify(ref)} and the address name two`, { where: given, cure: 'leave one of them out' });
}

/** null: there is nothing of that name. */
function placeOf(given: string, ref: string | undefined, directory: string): Origin | null {
  const place = path.resolve(directory, given);
  const stats = statSync(place, { throwIfNoEntry: false });
  if (stats === undefined) return null;
  if (stats.isFile()) {
    if (/\.zip$/i.test(place)) return { kind: 'zip', location: place };
    if (/^skill\.md$/i.test(path.basename(place))) return { kind: 'folder', location: path.dirname(place) };
    throw unknown(given, 'it is neither a folder nor a zip archive');
  }
  if (!stats.isDirectory()) throw unknown(given, 'it is neither a folder nor a file');
  const bare = ['HEAD', 'objects', 'refs'].every((name) => existsSync(path.join(place, name)));
  if (bare || (ref !== undefined && existsSync(path.join(place, '.git')))) return git(pathToFileURL(place).href, ref);
  return { kind: 'folder', location: place };
}

function git(location: string, ref: string | undefined): Origin {
  return { kind: 'git', location, ...(ref === undefined ? {} : { ref }) };
}

function decode(part: string, given: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    // it says no more than this
    throw unknown(given, 'it is not encoded as addresses are');
  }
}

function unknown(given: string, why: string): PithError {
  return new PithError('origin_unknown', `cannot install from ${JSON.stringify(given)}: ${why}`, {
    cure: 'name a folder, owner/repo of GitHub, the address of a git repository, or a zip archive',
  });
}
