import { estimateTokenCount } from 'tokenx';

/** What a heuristic count may lack of a tokeniser's: calibrated by a test for the catalog's kinds of text. */
const MARGIN = 1.25;

/** Tokens of a text, rather too many than too few. */
export function estimateTokens(text: string): number {
  return Math.ceil(estimateTokenCount(text) * MARGIN);
}

/** 1 % of the model's window within 600 and 2,000; 2,000 where the window is unknown. */
export function catalogBudget(contextWindow: number | null): number {
  return contextWindow === null ? 2000 : Math.min(2000, Math.max(600, Math.floor(contextWindow / 100)));
}
