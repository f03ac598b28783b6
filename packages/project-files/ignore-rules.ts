import { globOf, type Glob } from '@pith/patterns';

/** The rules of one `.gitignore`, read as git reads them. What git can make nothing of names no file. */
export interface IgnoreRules {
  /** Whether a place is ignored; null: no rule says. `names` lead to it from the folder of the file. */
  verdictOn(names: readonly string[], isFolder: boolean): boolean | null;
}

interface Rule {
  readonly ignores: boolean;
  readonly foldersOnly: boolean;
  /** It is about a name in whatever folder, and not about a path. */
  readonly isOfName: boolean;
  readonly glob: Glob;
}

export function ignoreRules(bytes: Uint8Array): IgnoreRules {
  const lines = byteText(bytes)
    .replace(/^\xef\xbb\xbf/u, '')
    .split('\n');
  const rules = lines.flatMap((line) => ruleOf(line.replace(/\r$/u, '').replace(/\0[^]*/u, ''))).toReversed(); // the last one counts
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

/** A blank behind a backslash stays. */
function withoutTrailingSpaces(line: string): string {
  return /^(?:\\[^]|[^\\ ]| +(?! |$))*\\?/u.exec(line)?.[0] ?? line;
}

/** A character for each byte: git counts bytes too. */
function byteText(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
}
