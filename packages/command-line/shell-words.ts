import { printableLine } from '@pith/plain-text';

/** The words of one program, its name first. */
export type Words = readonly string[];

/** In bash each of these stands for itself, wherever it is in a word. */
const PLAIN = /[\p{L}\p{M}\p{N}_./:=@%+,^-]/u;
/** After one of these `~` stands for itself: `HEAD~1`. */
const BEFORE_TILDE = /[\p{L}\p{N}_@^~]$/u;

/**
 * The words of the programs of a pipeline; null for anything else that a shell would make something of: several commands, redirections,
 * substitutions, variables, patterns, escapes, comments, assignments, more than one line, other kinds of space. What is not known here
 * is nothing that bash was asked about: nobody but bash reads all of bash as bash does.
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
  if (printableLine(line) !== line) return null; // a person would see another command
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

/** `!` is plain for bash that runs a command, and not for one that a person pastes it into. */
function isPlainIn(quote: '"' | "'", char: string): boolean {
  return quote === "'" || !/[$`\\!]/u.test(char);
}

/** A pipeline that bash reads as these words and nothing else. */
export function quotedPipeline(programs: readonly Words[]): string {
  return programs.map((words) => words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ')).join(' | ');
}

/** The words of one command in the one way in which they are shown and compared. bash reads these words in it, and so does `pipelineOf`. */
export function shownWords(words: Words): string {
  return words.map((word) => (BARE.test(word) ? word : shownQuoted(word))).join(' ');
}

/** `in` is quoted, because a folder is named by it behind the words. */
const BARE = /^(?!in$)[\w./:=@%,-]+$/u;

/** In quotes in which each of its characters stands for itself. */
export function shownQuoted(text: string): string {
  return /["$`\\!]/u.test(text) ? `'${text.replaceAll("'", `'"'"'`)}'` : `"${text}"`;
}

/** As `shownWords` writes it, of a line that a person typed. null: a shell would run more than one program with these words. */
export function shownCommand(line: string): string | null {
  const [words, ...others] = pipelineOf(line) ?? [];
  return words === undefined || others.length > 0 ? null : shownWords(words);
}
