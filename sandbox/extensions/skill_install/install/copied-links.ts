import path from 'node:path';
import type { Listing, OriginEntry } from './entry.ts';

/** The longest target of a link that is read, in bytes, and how many links one after the other are followed. */
const LONGEST = 4096;
const HOPS = 8;

/** The listing in which each link to a file of the same origin is a copy of that file. Others stay links, and are refused with their skill. */
export async function withCopiedLinks(listing: Listing): Promise<Listing> {
  const links = listing.entries.filter(({ kind, size }) => kind === 'link' && size <= LONGEST);
  if (links.length === 0) return listing;
  const targets = await targetsOf(listing, links);
  const entries = new Map(listing.entries.map((entry) => [entry.path, entry]));
  const sources = new Map<OriginEntry, OriginEntry>();
  const all = listing.entries.map((entry) => {
    const source = fileBehind(entry, targets, entries);
    if (source === null || source === entry) return entry;
    const copy: OriginEntry = { path: entry.path, kind: 'file', size: source.size, executable: source.executable };
    sources.set(copy, source);
    return copy;
  });
  return {
    ...listing,
    entries: all,
    async *read(wanted) {
      yield* listing.read(wanted.filter((entry) => !sources.has(entry)));
      for (const entry of wanted) {
        const source = sources.get(entry);
        if (source !== undefined) for await (const { chunks } of listing.read([source])) yield { entry, chunks };
      }
    },
  };
}

async function targetsOf(listing: Listing, links: readonly OriginEntry[]): Promise<ReadonlyMap<OriginEntry, string>> {
  const targets = new Map(links.flatMap((link) => (link.target === undefined ? [] : [[link, link.target] as const])));
  for await (const { entry, chunks } of listing.read(links.filter((link) => !targets.has(link)))) {
    const parts: Uint8Array[] = [];
    for await (const chunk of chunks) parts.push(chunk);
    targets.set(entry, Buffer.concat(parts).toString());
  }
  return targets;
}

/** The regular file to which an entry leads without leaving the origin; null where there is none. */
function fileBehind(
  entry: OriginEntry,
  targets: ReadonlyMap<OriginEntry, string>,
  entries: ReadonlyMap<string, OriginEntry>,
): OriginEntry | null {
  let at = entry;
  for (let hop = 0; at.kind === 'link' && hop < HOPS; hop++) {
    const target = targets.get(at);
    if (target === undefined || path.posix.isAbsolute(target)) return null;
    const next = entries.get(path.posix.join(path.posix.dirname(at.path), target));
    if (next === undefined) return null;
    at = next;
  }
  return at.kind === 'file' ? at : null;
}
