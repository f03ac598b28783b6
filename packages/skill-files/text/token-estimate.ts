import { estimateTokenCount } from 'tokenx';

/** How far the heuristic may fall short of a tokeniser on ordinary text; a test compares it with real ones. */
const MARGIN = 1.15;
/** Tokens per character of text that no vocabulary has: digests, serial numbers, random letters. */
const CODE = 0.8;

/** The estimated tokens of a text in any script, rather too many than too few. */
export function estimateTokens(text: string): number {
  let extra = 0;
  const ordinary = text
    .replace(UNUSUAL, (character) => {
      extra += weightOf(character.codePointAt(0)!);
      return ' ';
    })
    .replace(RUNS, (word) => {
      if (!isCode(word)) return word;
      extra += word.length * CODE;
      return ' ';
    });
  return Math.ceil(estimateTokenCount(ordinary) * MARGIN + extra);
}

const UNUSUAL = /\P{ASCII}/gu;
const RUNS = /[a-z0-9]{4,}|[!-/:-@[-`{-~]{4,}/gi;

function isCode(run: string): boolean {
  if (!/[a-z0-9]/i.test(run) || run.length > 20) return true;
  return /[a-z]/i.test(run) ? /\d/.test(run) || (run.length > 4 && !/[aeiouy]/i.test(run)) : false;
}

/**
 * Tokens per character beyond ASCII, up to each code point: the most that a character of the script takes, and for scripts with words in
 * vocabularies the figure of real sentences. A run of rare ideographs takes up to half as much again.
 */
const WEIGHTS: readonly (readonly [number, number])[] = [
  [0x17f, 1.5],
  [0x36f, 2.5],
  [0x3ff, 1.3], // Greek
  [0x45f, 1], // Cyrillic
  [0x58f, 2.5],
  [0x5ff, 1.5], // Hebrew
  [0x64f, 1.1], // Arabic
  [0x8ff, 2],
  [0x97f, 1.5], // Devanagari
  [0xdff, 2.2],
  [0xe7f, 1.2], // Thai
  [0x1fff, 3],
  [0x200f, 2.2],
  [0x2027, 1], // dashes, quotes, bullets
  [0x2dff, 2.2], // arrows, mathematics, boxes
  [0x2fff, 3],
  [0x303f, 1.5],
  [0x30ff, 1.2], // kana
  [0x4dff, 3],
  [0x9fff, 1.8], // ideographs
  [0xabff, 3],
  [0xd7af, 1.5], // Hangul
  [0xffff, 3],
  [0x1efff, 4],
  [0x1faff, 3], // emoji
];

function weightOf(point: number): number {
  for (const [last, weight] of WEIGHTS) if (point <= last) return weight;
  return 4;
}
