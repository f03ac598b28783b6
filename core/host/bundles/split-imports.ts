/**
 * Takes what needs zod out of `import { … } from 'pith'` into an import of its own: bundlers decide by file what is loaded, so one
 * import of both would make every start pay for zod. Keeps the lines. Only the imports that a file begins with are read: further down,
 * the same words may stand in a text or a template.
 */
export function splitImports(source: string, isHeavy: (name: string) => boolean): string {
  let split = '';
  let at = 0;
  for (let end = endOfStatement(source, at); end > at; end = endOfStatement(source, at)) {
    split += splitStatement(source.slice(at, end), isHeavy);
    at = end;
  }
  return split + source.slice(at);
}

const BLANK = /(?:\s|\/\/.*|\/\*[^]*?\*\/)*/y;
const IMPORT = /import\s*(?:[\w$*{},\s]|\/\/.*|\/\*[^]*?\*\/)*?(['"])[^'"\n]*\1(?:\s*with\s*\{[^}]*\})?[^\S\n]*;?/y;

/** Where the import that stands next, after blanks and comments, ends; `at` where none does. */
function endOfStatement(source: string, at: number): number {
  BLANK.lastIndex = at;
  BLANK.test(source);
  IMPORT.lastIndex = BLANK.lastIndex;
  return IMPORT.test(source) ? IMPORT.lastIndex : at;
}

function splitStatement(statement: string, isHeavy: (name: string) => boolean): string {
  const match = /^([^]*)\bimport\s*\{([^}]*)\}\s*from\s*(['"])pith\3\s*(;?)$/.exec(statement);
  if (!match) return statement;
  const [, before = '', list = '', , end = ''] = match;
  const names = list
    .replace(/\/\/.*|\/\*[^]*?\*\//g, '')
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '' && !each.startsWith('type '));
  const of = (wanted: boolean) => names.filter((each) => isHeavy(each.split(/\s+as\s+/)[0]!) === wanted);
  const imports = [
    ['light', of(false)],
    ['full', of(true)],
  ] as const;
  const written = imports.filter(([, part]) => part.length > 0).map(([from, part]) => `import { ${part.join(', ')} } from 'pith:${from}'`);
  return `${before}${written.join('; ')}${written.length > 0 ? end : ''}${'\n'.repeat(statement.slice(before.length).split('\n').length - 1)}`;
}
