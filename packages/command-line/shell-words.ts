import { printableLine } from '@pith/plain-text';

/** The words of one program, its name first. */
export type Words = readonly string[];

/** bash takes each of these characters literally, anywhere in a word. */
const PLAIN = /[\p{L}\p{M}\p{N}_./:=@%+,^-]/u;
/** bash takes `~` literally after one of these: `HEAD~1`. */
const BEFORE_TILDE = /[\p{L}\p{N}_@^~]$/u;

/** A program of a command line. */
export interface Program {
  readonly words: Words;
  /** What joins it to the one before it; null: it is the first. */
  readonly joint: Joint | null;
  /** Where its error stream goes; null: where the shell's goes. */
  readonly errors: '2>&1' | '2>/dev/null' | null;
}

type Joint = '|' | '&&' | '||' | ';';

const JOINT = / *(\|\||&&|[|;])/uy;
const ERRORS = / +(2>&1|2>\/dev\/null)(?=$|[ |;]|&&)/uy;

/**
 * The programs of a command line. null for everything else that a shell would act on: other redirections, substitutions, variables, patterns,
 * escapes, comments, assignments, several lines, other white space. Unknown syntax is null too, since only bash reads bash correctly.
 */
export function programsOf(command: string): readonly Program[] | null {
  const programs: { words: string[]; joint: Joint | null; errors: Program['errors'] }[] = [{ words: [], joint: null, errors: null }];
  let word: string | null = null;
  let quote: '"' | "'" | null = null;
  const endWord = (): void => {
    if (word !== null) programs.at(-1)?.words.push(word);
    word = null;
  };
  const line = command.replaceAll(/^[ \n]+|[ \n]+$/gu, '');
  if (printableLine(line) !== line) return null; // a person would see a different command
  for (let at = 0; at < line.length;) {
    const char = String.fromCodePoint(line.codePointAt(at) ?? 0);
    const [joint, errors] = quote === null ? [JOINT, ERRORS].map((each) => matchAt(each, line, at)) : [];
    if (joint || errors) {
      endWord();
      if (joint) programs.push({ words: [], joint: joint[1] as Joint, errors: null });
      else Object.assign(programs.at(-1) ?? {}, { errors: errors?.[1] });
      at += (joint ?? errors)?.[0].length ?? 0;
      continue;
    }
    at += char.length;
    if (quote === null && char === ' ') endWord();
    else if (char === quote) quote = null;
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
  const isWhole = quote === null && programs.every(({ words: [program = ''] }) => program !== '' && !program.includes('='));
  return isWhole ? programs : null;
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

/** A script reads `!` literally, an interactive bash into which a person pastes the command does not. */
function isPlainIn(quote: '"' | "'", char: string): boolean {
  return quote === "'" || !/[$`\\!]/u.test(char);
}

/** The programs as a line that bash parses into exactly these words. */
export function quotedPrograms(programs: readonly Program[]): string {
  const quoted = ({ words, joint, errors }: Program): string =>
    [joint, ...words.map((word) => `'${word.replaceAll("'", "'\\''")}'`), errors].filter((part) => part !== null).join(' ');
  return programs.map(quoted).join(' ');
}

/** The canonical form of a command's words, for display and comparison. bash and `programsOf` parse it into the same words. */
export function shownWords(words: Words): string {
  return words.map((word) => (BARE.test(word) ? word : shownQuoted(word))).join(' ');
}

/** `in` is quoted, because messages name a folder with it behind the words. */
const BARE = /^(?!in$)[\w./:=@%,-]+$/u;

/** The text in quotes in which every character is literal. */
export function shownQuoted(text: string): string {
  return /["$`\\!]/u.test(text) ? `'${text.replaceAll("'", `'"'"'`)}'` : `"${text}"`;
}

/** A line that a person typed, in the form of `shownWords`. null: a shell would do more than run one program. */
export function shownCommand(line: string): string | null {
  const [program, ...others] = programsOf(line) ?? [];
  return program === undefined || others.length > 0 || program.errors !== null ? null : shownWords(program.words);
}
