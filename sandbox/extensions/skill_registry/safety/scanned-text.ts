import type { ScannedLine, ScannedText } from './scan-finding.ts';

/** A line is looked at in pieces of this length, so that no pattern meets an endless one. */
const PIECE = 4096;
/** What a pattern may span over the border of two pieces. */
const OVERLAP = 512;
/** So many lines that go on are joined at most. */
const JOINED = 12;
const PROSE =
  /\.(?:md|mdx|markdown|txt|rst|adoc|html?|csv|tsv|json|jsonl|ya?ml|toml|xml|svg)$|(?:^|\/)(?:licen[cs]e|notice|readme|changelog)[^/]*$/i;

/** Whether a file with that name is for reading. */
export function isProse(path: string): boolean {
  return PROSE.test(path);
}

export function scannedText(path: string, text: string): ScannedText {
  return { path, kind: isProse(path) && !text.startsWith('#!') ? 'prose' : 'code', text, lines: [...linesOf(text)] };
}

function* linesOf(text: string): Iterable<ScannedLine> {
  const raw = text.split(/\r\n|[\n\r\u2028\u2029]/);
  for (let at = 0; at < raw.length; at++) {
    const number = at + 1;
    let line = raw[at]!;
    for (let joined = 1; joined < JOINED && at + 1 < raw.length && goesOn(line); joined++)
      line = `${line.replace(/[\\`^]\s*$/, '')} ${raw[++at]!}`;
    if (line.length <= PIECE) {
      if (line !== '') yield { number, text: line };
    } else for (let start = 0; start < line.length; start += PIECE - OVERLAP) yield { number, text: line.slice(start, start + PIECE) };
  }
}

/** A shell reads on after a backslash or a pipe; a row of a Markdown table ends with one too. */
function goesOn(line: string): boolean {
  if (line.length > PIECE) return false;
  const end = line.trimEnd();
  return end.endsWith('\\') || (end.endsWith('|') && !end.trimStart().startsWith('|'));
}
