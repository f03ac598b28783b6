import { guardedFetch, PithError, publicAddresses } from 'pith';

const PROBE_MS = 30_000;
const ADVERTISEMENT = '/info/refs?service=git-upload-pack';

/** Where git shall fetch, and how it is kept to what was looked at. */
export interface GitWay {
  readonly location: string;
  readonly options: readonly string[];
}

/**
 * git resolves names and follows redirects by itself, so both are done before: an http address is followed to its end as the guard allows
 * it, and git is told the addresses of its host and to follow no further. Of ssh and git addresses the host must be public; their
 * connection cannot be pinned, and what answers must speak their protocol. `allow`: addresses that a person named, wherever they lie.
 */
export async function gitWay(location: string, allow: readonly string[], signal?: AbortSignal): Promise<GitWay> {
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
