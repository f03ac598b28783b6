import { printableLine } from '@pith/plain-text';

/** The words of one program, its name first. */
export type Words = readonly string[];

/** bash takes each of these characters literally, anywhere in a word. */
const PLAIN = /[\p{L}\p{M}\p{N}_./:=@%+,^-]/u;
/** bash takes `~` literally after one of these: `HEAD~1`. */
const BEFORE_TILDE = /[\p{L}\p{N}_@^~]$/u;

/**
 * The words of each program of a pipeline. null for everything else that a shell would act on: several commands, redirections,
 * substitutions, variables, patterns, escapes, comments, assignments, several lines, other white space. Unknown syntax is null too, since
 * only bash reads bash correctly.
 */
export function pipelineOf(command: string): readonly Words[] | null {
  const programs: string[][] = [[]];
  let word: string | null = null;
  let quote: '"' | "'" | null = null;
  const endWord = (): void => {
    if (word !== null) programs.at(-1)?.push(word);
    word = null;
  };
  const line = command.replaceAll(/^[ \n]+|[ \n]+$/gu, '');
  if (printableLine(line) !== line) return null; // a person would see a different command
  for (const char of line) {
    if (quote === null && char === ' ') endWord();
    else if (quote === null && char === '|') {
      endWord();
      programs.push([]);
    } else if (char === quote) quote = null;
    else if (quote === null && (char === "'" || char === '"')) {
      quote = char;
      word ??= '';
    } else {
      const isPlain: boolean =
        quote === null ? PLAIN.test(char) || (char === '~' && BEFORE_TILDE.test(word ?? '')) : isPlainIn(quote, char);
      if (!isPlain) return null;
      word = `${word ?? ''}${char}`;
    }
  }
  endWord();
  const isWhole = quote === null && programs.every(([program = '']) => program !== '' && !program.includes('='));
  return isWhole ? programs : null;
}

/** A script reads `!` literally, an interactive bash into which a person pastes the command does not. */
function isPlainIn(quote: '"' | "'", char: string): boolean {
  return quote === "'" || !/[$`\\!]/u.test(char);
}

/** The pipeline as a line that bash parses into exactly these words. */
export function quotedPipeline(programs: readonly Words[]): string {
  return programs.map((words) => words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ')).join(' | ');
}

/** The canonical form of a command's words, for display and comparison. bash and `pipelineOf` parse it into the same words. */
export function shownWords(words: Words): string {
  return words.map((word) => (BARE.test(word) ? word : shownQuoted(word))).join(' ');
}

/** `in` is quoted, because messages name a folder with it behind the words. */
const BARE = /^(?!in$)[\w./:=@%,-]+$/u;

/** The text in quotes in which every character is literal. */
export function shownQuoted(text: string): string {
  return /["$`\\!]/u.test(text) ? `'${text.replaceAll("'", `'"'"'`)}'` : `"${text}"`;
}

/** A line that a person typed, in the form of `shownWords`. null: a shell would run more than one program. */
export function shownCommand(line: string): string | null {
  const [words, ...others] = pipelineOf(line) ?? [];
  return words === undefined || others.length > 0 ? null : shownWords(words);
}
