/**
 * `text` with the commands that it names (`see: pith doctor`) as they are typed in a conversation (`see: /doctor`). One that is to be
 * typed elsewhere (`type on the command line: pith doctor`) stays.
 */
export function typedHints(text: string, paths: readonly string[]): string {
  return text.replace(/(?<![\w/-]|on the command line: )(?:npx |node \S*\/)?pith ([a-z]+(?: [a-z]+)*)/gu, (whole, words: string) =>
    paths.some((path) => words === path || words.startsWith(`${path} `)) ? `/${words}` : whole,
  );
}
