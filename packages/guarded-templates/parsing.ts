import lexer from 'nunjucks/src/lexer.js';
import nodes from 'nunjucks/src/nodes.js';
import nunjucks from 'nunjucks/src/parser.js';
import { TemplateProblem } from './template.ts';

/** The longest template in characters. */
const TEMPLATE_LIMIT = 256 * 1024;
/** The longest run of white space: trimming it takes the parser time quadratic in its length. */
const BLANKS_LIMIT = 500;

/** A node of a parsed template, as nunjucks makes it: untrusted data. */
export interface TemplateNode {
  readonly typename: string;
  /** Counts from 0. */
  readonly lineno?: number;
  readonly colno?: number;
  readonly children?: readonly TemplateNode[];
  readonly value?: unknown;
  readonly [field: string]: unknown;
}

/** Throws `TemplateProblem`. */
export function parseTemplate(text: string): TemplateNode {
  if (text.length > TEMPLATE_LIMIT)
    throw new TemplateProblem(unparsed(`it has ${text.length} characters, and ${TEMPLATE_LIMIT} is the most`));
  const blanks = new RegExp(`\\s{${BLANKS_LIMIT + 1}}`, 'u').exec(text);
  if (blanks) throw new TemplateProblem(unparsed(`more than ${BLANKS_LIMIT} blanks in a row`), { line: lineAt(text, blanks.index) });
  try {
    return new LinearParser(lexer.lex(text)).parseAsRoot() as TemplateNode;
  } catch (error) {
    throw problemOfParser(error, text);
  }
}

/**
 * Finds the end of raw blocks in linear time. For an unclosed raw block nunjucks searches again from every position, which is quadratic,
 * and then reads on as if there were no block.
 */
class LinearParser extends nunjucks.Parser {
  override parseRaw(name = 'raw'): unknown {
    const { lineno, colno } = this.advanceAfterBlockEnd();
    const { tokens } = this;
    const tag = new RegExp(`\\{%\\s*(end)?${name}\\s*%\\}`, 'gu');
    const begin = tokens.index;
    tag.lastIndex = begin;
    for (let depth = 1, found = tag.exec(tokens.str); found !== null; found = tag.exec(tokens.str)) {
      depth += found[1] === undefined ? 1 : -1;
      if (depth > 0) continue;
      tokens.forwardN(tag.lastIndex - begin);
      return new nodes.Output(lineno, colno, [new nodes.TemplateData(lineno, colno, tokens.str.slice(begin, found.index))]);
    }
    return this.fail(`the block '${name}' has no end${name}`, lineno, colno);
  }
}

/** Cures for syntax that nunjucks does not know. */
const CURES: readonly (readonly [RegExp, string])[] = [
  [/unknown block tag: (?:with|do)\b/, 'write {% set name = value %}'],
  [/unknown block tag: (?:break|continue)\b/, 'put the rest of the loop into an {% if %}'],
  [/unexpected token: :|parseAggregate: expected comma/, 'correct the template; for list[1:3] write list.slice(1, 3)'],
];

/** The parser gives the place in the message or next to it, from 1. Without a place, the template ended too early. */
function problemOfParser(cause: unknown, text: string): TemplateProblem {
  const said = cause instanceof Error ? cause.message : String(cause);
  const place = /\[Line (\d{1,9}), Column (\d{1,9})\]/.exec(said);
  const message = said
    .replace(/^\s*\([^)\n]*\)(?: \[Line \d+, Column \d+\])?\s*/, '')
    .replace(/\s+/g, ' ')
    .trim();
  const { lineno, colno } = cause as { readonly lineno?: number; readonly colno?: number };
  const [line, column] = place ? [Number(place[1]), Number(place[2])] : [lineno ?? lineAt(text.trimEnd(), Infinity), colno];
  const cure = CURES.find(([pattern]) => pattern.test(message))?.[1];
  return new TemplateProblem(unparsed(message), { line, column, cause, cure });
}

function unparsed(why: string): string {
  return `the template cannot be parsed: ${why}`;
}

function lineAt(text: string, index: number): number {
  return text.slice(0, index).split('\n').length;
}
