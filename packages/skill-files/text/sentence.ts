/** The first sentence of a text of one line; all of it where none ends before. */
export function firstSentence(text: string): string {
  return text.slice(0, sentenceEnd(text, 0));
}

/** Where the sentence ends that a text of one line has at `from`. */
export function sentenceEnd(text: string, from: number): number {
  END.lastIndex = from;
  for (let end = END.exec(text); end !== null; end = END.exec(text)) {
    if (!ABBREVIATION.test(text.slice(Math.max(from, end.index - 10), end.index))) return end.index + end[0].length;
  }
  return text.length;
}

const END = /[.!?](?=\s+["'“(`]?\p{Lu}|$)|[。！？]/gu;
const ABBREVIATION = /(?:^|[\s(])(?:e\.g|i\.e|etc|vs|cf|incl|approx|resp|no|dr|mr|ms|mrs|prof|st|inc|ltd)$/i;
