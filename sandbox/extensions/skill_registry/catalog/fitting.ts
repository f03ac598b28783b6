import { catalogPurpose, clean, lineOf, WHOLE_LINE } from '@pith/skill-files';
import { mostTokens } from '@pith/token-count';
import type { Skill } from '../skill.ts';

export interface Fitting {
  readonly lines: readonly string[];
  /** Estimated, each with its newline. */
  readonly tokens: number;
}

/** Lines, all of which say what a skill is for in the same number of characters. */
export interface Lines extends Fitting {
  readonly limit: number;
}

/** No line has fewer tokens. */
const FEWEST = 5;
/** Fewer characters say nothing that an id does not. */
export const SHORTEST = 24;

/** A line for each of `skills`, all cut at the one length, of `most` characters at most, that is the largest for which all fit into `room` tokens; null where none is. */
export function richestLines(skills: readonly Skill[], room: number, most = WHOLE_LINE): Lines | null {
  if (skills.length * FEWEST > room) return null;
  const described = skills.map((skill) => ({ id: clean(skill.id), purpose: catalogPurpose(skill) }));
  return largest(SHORTEST, most, (limit) => {
    const found = fitting(described, room, ({ id, purpose }) => lineOf(id, purpose(limit)));
    return found === null ? null : { ...found, limit };
  });
}

/** What `make` makes of the largest whole number from `low` to `high` of which it makes anything; it makes nothing of a larger one either. */
export function largest<T>(low: number, high: number, make: (size: number) => T | null): T | null {
  const whole = make(high); // mostly everything fits
  if (whole !== null || low >= high) return whole;
  let best = make(low);
  let [from, beyond] = [low, high];
  while (best !== null && beyond - from > 1) {
    const middle = (from + beyond) >> 1;
    const found = make(middle);
    if (found === null) beyond = middle;
    else [best, from] = [found, middle];
  }
  return best;
}

/** The lines of all `items`; null where they have no room. Given up at the first line beyond it, so that thousands cost no more than hundreds. */
export function fitting<T>(items: Iterable<T>, room: number, lineFor: (item: T) => string): Fitting | null {
  const lines: string[] = [];
  let tokens = 0;
  for (const item of items) {
    const line = lineFor(item);
    tokens += costOf(line);
    if (tokens > room) return null;
    lines.push(line);
  }
  return { lines, tokens };
}

export function costOf(line: string): number {
  return mostTokens(line) + 1; // its newline
}

export function sumOf(lines: readonly string[]): number {
  return lines.reduce((sum, line) => sum + costOf(line), 0);
}
