import { globOf, type Glob } from '@pith/patterns';

/** The rules of one `.gitignore`, as git reads them. A malformed rule matches nothing. */
export interface IgnoreRules {
  /** Whether a path is ignored; null: no rule matches. `names` lead to it from the file's folder. */
  verdictOn(names: readonly string[], isFolder: boolean): boolean | null;
}

interface Rule {
  readonly ignores: boolean;
  readonly foldersOnly: boolean;
  /** The rule matches a name in any folder, not a path. */
  readonly isOfName: boolean;
  readonly glob: Glob;
}

export function ignoreRules(bytes: Uint8Array): IgnoreRules {
  const lines = byteText(bytes)
    .replace(/^\xef\xbb\xbf/u, '')
    .split('\n');
  const rules = lines.flatMap((line) => ruleOf(line.replace(/\r$/u, '').replace(/\0[^]*/u, ''))).toReversed(); // the last matching rule counts
  return {
    verdictOn(names, isFolder) {
      const name = byteText(Buffer.from(names.at(-1) ?? ''));
      const path = byteText(Buffer.from(names.join('/')));
      const found = rules.find((rule) => (isFolder || !rule.foldersOnly) && rule.glob(rule.isOfName ? name : path));
      return found?.ignores ?? null;
    },
  };
}

function ruleOf(line: string): readonly Rule[] {
  if (line === '' || line.startsWith('#')) return [];
  const ignores = !line.startsWith('!');
  const whole = withoutTrailingSpaces(line).slice(ignores ? 0 : 1);
  const foldersOnly = whole.endsWith('/');
  const pattern = foldersOnly ? whole.slice(0, -1) : whole;
  const isOfName = !pattern.includes('/');
  return [{ ignores, foldersOnly, isOfName, glob: globOf(pattern.replace(/^\//u, ''), !isOfName) }];
}

/** A blank after a backslash stays. */
function withoutTrailingSpaces(line: string): string {
  return /^(?:\\[^]|[^\\ ]| +(?! |$))*\\?/u.exec(line)?.[0] ?? line;
}

/** One character per byte, since git counts bytes. */
function byteText(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
}
