import { distance } from 'fastest-levenshtein';
import { printableLine } from './printable.ts';

/** The candidates most similar to `name`, best first, at most `count`; candidates that have little in common with it are left out. */
export function nearest(name: string, candidates: Iterable<string>, count = 3): readonly string[] {
  const wanted = name.toLowerCase();
  const limit = Math.max(2, Math.ceil(wanted.length / 2));
  return [...candidates]
    .map((candidate) => ({ candidate, cost: costOf(wanted, candidate.toLowerCase(), limit) }))
    .filter(
      ({ candidate, cost }) =>
        cost <= limit && (cost < Math.max(wanted.length, candidate.length) || isAnagram(wanted, candidate.toLowerCase())),
    ) // a candidate without common letters is not similar
    .sort((a, b) => a.cost - b.cost || (a.candidate < b.candidate ? -1 : 1))
    .slice(0, count)
    .map(({ candidate }) => candidate);
}

function isAnagram(a: string, b: string): boolean {
  return [...a].sort().join('') === [...b].sort().join('');
}

/** ` (did you mean 'x' or 'y'?)`, or nothing. For the end of a message. */
export function didYouMean(name: string, candidates: Iterable<string>): string {
  const names = nearest(name, candidates, 2).map((candidate) => `'${printableLine(candidate)}'`);
  return names.length === 0 ? '' : ` (did you mean ${names.join(' or ')}?)`;
}

/**
 * The closest candidates of which `entry` may be a typing error: one letter added, missing, wrong or swapped, or up to `most` of them.
 * Case, spaces, `-` and `_` do not count. Names that differ in digits only do not match, and names of four letters allow one error.
 */
export function slipsOf(entry: string, candidates: Iterable<string>, most = 1): readonly string[] {
  const written = bare(entry);
  let [found, least]: [string[], number] = [[], most];
  for (const candidate of candidates) {
    const name = bare(candidate);
    if (Math.abs(name.length - written.length) > least) continue; // skips most keys of ten thousand skills
    const cost = slipCost(written, name);
    if (cost > least || (cost > 1 && name.length < 5)) continue;
    if (cost < least) [found, least] = [[], cost];
    found.push(candidate);
  }
  return found;
}

function bare(name: string): string {
  return name.toLowerCase().replaceAll(/[-_ ]/g, '');
}

function slipCost(written: string, name: string): number {
  let [from, left, right] = [0, written.length, name.length];
  while (from < Math.min(left, right) && written[from] === name[from]) from += 1;
  while (left > from && right > from && written[left - 1] === name[right - 1]) [left, right] = [left - 1, right - 1];
  const [wrong, meant] = [written.slice(from, left), name.slice(from, right)];
  if (/^\d+$/.test(wrong + meant)) return Infinity;
  return wrong.length === 2 && wrong[0] === meant[1] && wrong[1] === meant[0] && meant.length === 2 ? 1 : distance(wrong, meant);
}

/** Stops at the limit; most of ten thousand candidates differ too much in length. */
function costOf(wanted: string, candidate: string, limit: number): number {
  if (candidate.includes(wanted) && wanted.length >= 3) return 1;
  return Math.abs(wanted.length - candidate.length) > limit ? Infinity : distance(wanted, candidate);
}
