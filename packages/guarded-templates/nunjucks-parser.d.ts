/** The files of nunjucks that are used: they parse and generate no code. */
declare module 'nunjucks/src/lexer.js' {
  interface Tokens {
    /** The whole template, and the position in it. */
    readonly str: string;
    readonly index: number;
    forwardN(count: number): void;
  }
  const lexer: { lex(text: string): Tokens };
  export default lexer;
}

declare module 'nunjucks/src/nodes.js' {
  type Node = new (line: number, column: number, content: unknown) => unknown;
  const nodes: { readonly Output: Node; readonly TemplateData: Node };
  export default nodes;
}

declare module 'nunjucks/src/parser.js' {
  import type lexer from 'nunjucks/src/lexer.js';
  class Parser {
    constructor(tokens: ReturnType<typeof lexer.lex>);
    readonly tokens: ReturnType<typeof lexer.lex>;
    parseAsRoot(): unknown;
    parseRaw(name?: string): unknown;
    /** Moves behind the end of the current block tag. */
    advanceAfterBlockEnd(): { readonly lineno: number; readonly colno: number };
    /** Throws. */
    fail(message: string, line: number, column: number): never;
  }
  const parser: { readonly Parser: typeof Parser };
  export default parser;
}
