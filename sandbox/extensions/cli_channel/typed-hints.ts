import { stripVTControlCharacters } from 'node:util';

/**
 * `text` with the commands that it names (`see: pith doctor`) as they are typed in a conversation (`see: /doctor`). One that is to be
 * typed elsewhere (`type on the command line: pith doctor`) stays.
 */
export function typedHints(text: string, paths: readonly string[]): string {
  return text.replace(/(?<![\w/-]|on the command line: )(?:npx |node \S*\/)?pith ([a-z]+(?: [a-z]+)*)/gu, (whole, words: string) =>
    paths.some((path) => words === path || words.startsWith(`${path} `)) ? `/${words}` : whole,
  );
}

/** The same for what commands print, which may quote others: only after words that lead to a command, and never behind the bar of a quotation. */
export function printedHints(text: string, paths: readonly string[]): string {
  return text
    .split('\n')
    .map((line) => (/^\s*│/u.test(stripVTControlCharacters(line)) ? line : line.replaceAll(LED_TO, (hint) => typedHints(hint, paths))))
    .join('\n');
}

const LED_TO = /(?<=: |[Ss]ee |\bor |\banswer )(?<!on the command line: )pith [a-z]+(?: [a-z]+)*/gu;
