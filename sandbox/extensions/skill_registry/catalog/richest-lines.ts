import { catalogLine, estimateTokens, WHOLE_LINE } from '@pith/skill-files';
import type { Skill } from '../skill.ts';

export interface Lines {
  readonly lines: readonly string[];
  /** Characters that each may have of what its skill is for. */
  readonly limit: number;
  readonly tokens: number;
}

/** No line has fewer tokens. */
const FEWEST = 5;
/** Characters of a line, from a whole description down to a few words. */
const LIMITS: readonly number[] = [WHOLE_LINE, 300, 260, 220, 190, 160, 140, 120, 100, 90, 80, 70, 60, 50, 40, 30, 20];

/**
 * A line for each of `skills`, all in the richest form of at most `most` characters that has room in `room` tokens for all;
 * null where none has. A form is given up at the first line beyond the room, so that thousands cost no more than hundreds.
 */
export function richestLines(skills: readonly Skill[], room: number, most = WHOLE_LINE): Lines | null {
  if (skills.length * FEWEST > room) return null;
  const limits = LIMITS.filter((limit) => limit <= most);
  let best = linesWithin(skills, room, limits.at(-1)!);
  if (best === null) return null;
  for (let [low, high] = [0, limits.length - 1]; low < high;) {
    const middle = (low + high) >> 1;
    const found = linesWithin(skills, room, limits[middle]!);
    if (found === null) low = middle + 1;
    else [best, high] = [found, middle];
  }
  return best;
}

/** The lines of `limit` characters; null where they have no room. */
function linesWithin(skills: readonly Skill[], room: number, limit: number): Lines | null {
  const lines: string[] = [];
  let tokens = 0;
  for (const skill of skills) {
    const line = catalogLine(skill, limit);
    tokens += costOf(line);
    if (tokens > room) return null;
    lines.push(line);
  }
  return { lines, limit, tokens };
}

export function costOf(line: string): number {
  return estimateTokens(line) + 1; // its newline
}

export function sumOf(lines: readonly string[]): number {
  return lines.reduce((sum, line) => sum + costOf(line), 0);
}
