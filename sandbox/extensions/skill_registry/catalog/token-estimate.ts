import { estimateTokenCount } from 'tokenx';

/** What the heuristic count of ordinary text may lack of a tokeniser's; a test holds it against real ones. */
const MARGIN = 1.15;
/** Tokens a character of words that no vocabulary has: digests, serial numbers, random letters. */
const CODE = 0.8;

/** Tokens of a text, rather too many than too few, whatever script it is written in. */
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

/** 1 % of the model's window within 600 and 2,000; 2,000 where the window is unknown. */
export function catalogBudget(contextWindow: number | null): number {
  return contextWindow === null ? 2000 : Math.min(2000, Math.max(600, Math.floor(contextWindow / 100)));
}

const UNUSUAL = /\P{ASCII}/gu;
const RUNS = /[a-z0-9]{4,}|[!-/:-@[-`{-~]{4,}/gi;

function isCode(run: string): boolean {
  if (!/[a-z0-9]/i.test(run) || run.length > 20) return true;
  return /[a-z]/i.test(run) ? /\d/.test(run) || (run.length > 4 && !/[aeiouy]/i.test(run)) : false;
}

/** Tokens that one character beyond ASCII costs at most on average in the tokenisers of the day. */
function weightOf(point: number): number {
  if (point < 0x250) return 1.2;
  if (point < 0x900) return 0.9;
  if (point >= 0x2000 && point < 0x2600) return 1; // dashes, bullets, arrows
  if (point > 0xffff) return 3;
  return point < 0x1000 || (point >= 0x2e80 && point < 0xfe00) ? 1.2 : 3;
}
