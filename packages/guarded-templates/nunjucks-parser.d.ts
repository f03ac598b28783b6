/** The one file of nunjucks that is used: it reads, and makes no code. */
declare module 'nunjucks/src/parser.js' {
  const parser: { parse(text: string): unknown };
  export default parser;
}
