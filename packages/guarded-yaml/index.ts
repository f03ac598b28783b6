import { Composer, type CST, type Document, Lexer, LineCounter, Parser } from 'yaml';

export interface GuardedOptions {
  readonly uniqueKeys?: boolean;
  readonly resolveKnownTags?: boolean;
  /** The most lexemes (words, marks, spaces between them) of a text. Reading ten thousand takes about 50 ms. */
  readonly lexemes?: number;
}

/** `document` is the result of `parseDocument` of `yaml`, with offsets in its errors. `lines` turns offsets into lines and columns. */
export type GuardedYaml =
  | { readonly document: Document.Parsed; readonly refused: null; readonly secondAt: number; readonly lines: LineCounter }
  | { readonly document: null; readonly refused: Refusal; readonly secondAt: -1; readonly lines: LineCounter };

export interface Refusal {
  /** The limit that the text exceeds. */
  readonly excess: string;
  readonly offset: number;
}

/** The deepest nesting. The parser recurses for each level, and a thousand levels can end the process. */
const DEPTH_LIMIT = 64;
/** A text with this many errors is not YAML; only the first error is ever shown. */
const ERROR_LIMIT = 20;

/** Parses a text as YAML 1.2, core schema. Never throws, and takes time linear in the text's length. */
export function guardedYaml(text: string, { lexemes = Infinity, ...options }: GuardedOptions = {}): GuardedYaml {
  const lines = new LineCounter();
  const traces = Error.stackTraceLimit;
  Error.stackTraceLimit = 0; // a stack trace for each error of the text, which nobody sees, would take longer than all else
  try {
    lines.addNewLine(0);
    const parser = new Parser(lines.addNewLine);
    const tokens: CST.Token[] = [];
    const refused = (excess: string): GuardedYaml => ({ document: null, refused: { excess, offset: parser.offset }, secondAt: -1, lines });
    let errors = 0;
    let count = 0;
    for (const lexeme of new Lexer().lex(text)) {
      for (const token of parser.next(lexeme)) {
        tokens.push(token);
        if (token.type === 'error') errors += 1;
      }
      count += 1;
      if (parser.stack.length > DEPTH_LIMIT + 1) return refused(`more than ${DEPTH_LIMIT} levels of nesting`);
      if (count > lexemes) return refused(`more than ${lexemes} words and marks`);
      if (errors >= ERROR_LIMIT) break;
    }
    tokens.push(...parser.end());
    const composer = new Composer({ version: '1.2', schema: 'core', logLevel: 'silent', prettyErrors: false, ...options });
    const [document, second] = composer.compose(tokens, true, text.length);
    return { document: document as Document.Parsed, refused: null, secondAt: second?.range[0] ?? -1, lines };
  } finally {
    Error.stackTraceLimit = traces;
  }
}

/** The value of a text. Throws for text that is not YAML or nests too deep. */
export function yamlValue(text: string): unknown {
  const { document, refused } = guardedYaml(text);
  if (document === null) throw new RangeError(`it has ${refused?.excess}`);
  const [error] = document.errors;
  if (error !== undefined) throw error;
  return document.toJS({ maxAliasCount: 100 }) as unknown;
}
