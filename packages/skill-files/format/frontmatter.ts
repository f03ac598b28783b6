import type { Finding } from './finding.ts';

/** The longest frontmatter that is parsed, in bytes. */
export const FRONTMATTER_LIMIT = 16 * 1024;
/** The longest comments and blank lines above it, in characters. */
export const ABOVE_LIMIT = 4 * 1024;

/** The place of the frontmatter in a SKILL.md. Offsets are UTF-16 indexes into the given text. */
export interface Split {
  /** The YAML between the two `---` lines. */
  readonly head: string;
  /** The line of the file on which `head` begins, from 1. */
  readonly firstLine: number;
  /** Where the body begins: after the line end of the closing `---`. */
  readonly bodyOffset: number;
  readonly findings: readonly Finding[];
}

/**
 * Finds the frontmatter. `complete` is false when `text` is only the start of the file. A file that begins with other text has no
 * frontmatter and is all body. Returns a finding where frontmatter begins and cannot be used.
 */
export function splitFrontmatter(text: string, complete: boolean): Split | Finding {
  const findings: Finding[] = [];
  if (UTF_16.test(text)) return { code: 'encoding_utf16', detail: '', line: 1, column: 1 };
  let start = 0;
  let line = 1;
  if (text.charCodeAt(0) === 0xfeff) {
    findings.push({ code: 'repaired_bom', detail: '', line: 1, column: 1 });
    start = 1;
  }
  const above = text.slice(start, frontmatterBelow(text, start));
  if (/^[ \t]*\r?\n/.test(above)) findings.push({ code: 'repaired_leading_blank', detail: '', line: 1, column: 1 });
  if (above.includes('<!--')) findings.push({ code: 'repaired_comment', detail: '', line: 1, column: 1 });
  start += above.length;
  line += above.split('\n').length - 1;
  const opening = endOfDashes(text, start);
  if (opening === -1 || opening === text.length) {
    const finding = { code: missingBecause(text.slice(start, start + 256)), detail: '', line: 1, column: 1 };
    return finding.code === 'frontmatter_missing'
      ? { head: '', firstLine: 1, bodyOffset: start, findings: [...findings, finding] }
      : finding;
  }

  for (let at = opening - 1; at !== -1; at = text.indexOf('\n---', at + 1)) {
    if (text[at] !== '\n') break;
    const end = endOfDashes(text, at + 1);
    if (end === -1) continue;
    const head = text.slice(opening, at + 1);
    if (head.trim() === '')
      return {
        head: '',
        firstLine: line + 1,
        bodyOffset: end,
        findings: [...findings, { code: 'frontmatter_missing', detail: '', line, column: 1 }],
      };
    if (head.length > FRONTMATTER_LIMIT || Buffer.byteLength(head) > FRONTMATTER_LIMIT) return tooLarge(line);
    const carriageReturn = head.indexOf('\r\n');
    if (carriageReturn !== -1 || text[opening - 2] === '\r') {
      findings.push({ code: 'repaired_crlf', detail: '', line, column: 4 });
    }
    return { head, firstLine: line + 1, bodyOffset: end, findings };
  }
  return complete ? unclosed(line) : tooLarge(line);
}

/** Where the frontmatter begins below blank lines and HTML comments, such as a licence or a generator's mark; else `start`. */
function frontmatterBelow(text: string, start: number): number {
  let at = start;
  for (;;) {
    while (/\s/.test(text[at] ?? '')) at += 1;
    if (!text.startsWith('<!--', at)) break;
    const end = text.indexOf('-->', at + 4);
    if (end === -1) return start;
    at = end + 3;
  }
  const isFound = at - start <= ABOVE_LIMIT && text.startsWith('---', at) && text[at - 1] === '\n';
  return isFound ? at : start;
}

/** A UTF-16 byte order mark, or the first dashes in UTF-16, decoded as UTF-8. */
const UTF_16 = /^(?:\uFFFD\uFFFD|-\0|\0-)/;

function missingBecause(beginning: string): string {
  if (/^---[ \t]*\r(?!\n)/.test(beginning)) return 'line_ends_cr';
  return /^\s*(?:[-\u2010-\u2015]{2,}|\+{3})/.test(beginning) ? 'frontmatter_misspelt' : 'frontmatter_missing';
}

/** The index after the line at `at` when that line is three dashes and blanks; else -1. */
function endOfDashes(text: string, at: number): number {
  if (!text.startsWith('---', at)) return -1;
  let index = at + 3;
  while (text[index] === ' ' || text[index] === '\t') index += 1;
  if (text[index] === '\r' && text[index + 1] === '\n') index += 1;
  if (index === text.length) return index;
  return text[index] === '\n' ? index + 1 : -1;
}

function tooLarge(line: number): Finding {
  return { code: 'frontmatter_too_large', detail: '', line, column: 1 };
}

function unclosed(line: number): Finding {
  return { code: 'frontmatter_unclosed', detail: '', line, column: 1 };
}
