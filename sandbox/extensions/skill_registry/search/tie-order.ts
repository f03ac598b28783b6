/** Of two that fit equally well: by id, or drawn by a seed, so that over many seeds none comes first more often than another. */
export function isBefore(id: string, other: string, seed: string | undefined): boolean {
  if (seed === undefined) return id < other;
  const [mine, its] = [drawn(seed, id), drawn(seed, other)];
  return mine === its ? id < other : mine < its;
}

/** FNV-1a, its bits mixed once more: neighbouring ids are drawn far from each other. */
function drawn(seed: string, id: string): number {
  let hash = 0x811c9dc5;
  for (const text of [seed, id]) for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}
