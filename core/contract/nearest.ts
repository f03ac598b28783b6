import { distance } from 'fastest-levenshtein';

/** The candidates closest to `name`, best first, at most `count`; those that have little in common with it are left out. */
export function nearest(name: string, candidates: Iterable<string>, count = 3): readonly string[] {
  const wanted = name.toLowerCase();
  const limit = Math.max(2, Math.ceil(wanted.length / 2));
  return [...candidates]
    .map((candidate) => ({ candidate, cost: costOf(wanted, candidate.toLowerCase(), limit) }))
    .filter(({ cost }) => cost <= limit)
    .sort((a, b) => a.cost - b.cost || (a.candidate < b.candidate ? -1 : 1))
    .slice(0, count)
    .map(({ candidate }) => candidate);
}

/** `; did you mean 'x' or 'y'?`, or nothing. For the end of a message. */
export function didYouMean(name: string, candidates: Iterable<string>): string {
  const names = nearest(name, candidates, 2).map((candidate) => `'${candidate}'`);
  return names.length === 0 ? '' : `; did you mean ${names.join(' or ')}?`;
}

/** Beyond the limit it does not matter how far; of ten thousand candidates most differ too much in length. */
function costOf(wanted: string, candidate: string, limit: number): number {
  if (candidate.includes(wanted) && wanted.length >= 3) return 1;
  return Math.abs(wanted.length - candidate.length) > limit ? Infinity : distance(wanted, candidate);
}
