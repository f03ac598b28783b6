/** What a seed draws for each id, the lowest first; the same for all where there is none. FNV-1a, its bits mixed once more: neighbouring ids are drawn far from each other. */
export function placesFor(seed: string | undefined): (id: string) => number {
  if (seed === undefined) return () => 0;
  const start = hashed(0x811c9dc5, seed);
  return (id) => {
    const hash = hashed(start, id);
    const mixed = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
    return (mixed ^ (mixed >>> 13)) >>> 0;
  };
}

function hashed(start: number, text: string): number {
  let hash = start;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash;
}
