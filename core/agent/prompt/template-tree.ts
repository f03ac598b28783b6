import parser from 'nunjucks/src/parser.js';
import { BLANKS_LIMIT, TEMPLATE_LIMIT } from './template-limits.ts';

/** A part of a parsed template, as nunjucks makes it. Nothing in it is believed before template-check.ts has accepted the whole. */
export interface TemplateNode {
  readonly typename: string;
  /** From 0. */
  readonly lineno?: number;
  readonly colno?: number;
  readonly children?: readonly TemplateNode[];
  readonly value?: unknown;
  readonly [field: string]: unknown;
}

/** What is wrong with a template, and where; places count from 1. */
export class TemplateProblem extends Error {
  readonly line: number | undefined;
  readonly column: number | undefined;

  constructor(message: string, line?: number, column?: number, cause?: unknown) {
    super(message, { cause });
    this.line = line;
    this.column = column;
  }
}

/** Throws `TemplateProblem`. */
export function parseTemplate(text: string): TemplateNode {
  if (text.length > TEMPLATE_LIMIT) throw new TemplateProblem(`it has ${text.length} characters, and ${TEMPLATE_LIMIT} is the most`, 1, 1);
  const blanks = new RegExp(`\\s{${BLANKS_LIMIT + 1}}`, 'u').exec(text);
  if (blanks) throw new TemplateProblem(`more than ${BLANKS_LIMIT} blanks in a row`, lineAt(text, blanks.index), 1);
  try {
    return parser.parse(text) as TemplateNode;
  } catch (error) {
    throw problemOfParser(error, text);
  }
}

/** The parser keeps the place in the message, or beside it, counted from 1; where it has none, the template ended too early. */
function problemOfParser(error: unknown, text: string): TemplateProblem {
  const said = error instanceof Error ? error.message : String(error);
  const place = /\[Line (\d{1,9}), Column (\d{1,9})\]/.exec(said);
  const message = said
    .replace(/^\s*\([^)\n]*\)(?: \[Line \d+, Column \d+\])?\s*/, '')
    .replace(/\s+/g, ' ')
    .trim();
  const { lineno, colno } = error as { readonly lineno?: number; readonly colno?: number };
  const [line, column] = place ? [Number(place[1]), Number(place[2])] : [lineno ?? lineAt(text.trimEnd(), Infinity), colno ?? 1];
  return new TemplateProblem(message, line, column, error);
}

function lineAt(text: string, index: number): number {
  return text.slice(0, index).split('\n').length;
}
