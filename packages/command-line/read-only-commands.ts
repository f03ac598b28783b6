import { quotedPrograms, type Program, type Words } from './shell-words.ts';
import { COMMAND_RULES, type CommandRule } from './command-rules.ts';

/** A command line in which every program can only read, whatever its words are. */
export interface ReadOnlyCommand {
  /** The line for bash: each program by its absolute path, and each word as it was checked. The original text is not parsed again. */
  readonly line: string;
  /** The program with its subcommand, where the line has one program only. */
  readonly named: Words | null;
  /** One of the programs is git, which needs the `.git` folder. */
  readonly usesGit: boolean;
  /** It may print content that git keeps, also of files that may contain secrets. */
  readonly printsTracked: boolean;
}

/** null: a program or an option is not known to only read, or `locate` does not say where the program is. */
export function readOnlyCommandOf(programs: readonly Program[] | null, locate: (name: string) => string | null): ReadOnlyCommand | null {
  const found = programs ?? [];
  const ruled = found.map(ruledProgram).filter((each) => each !== null);
  const located = found.map(({ words: [program = '', ...rest], ...more }) => ({ ...more, words: [locate(program) ?? '', ...rest] }));
  if (ruled.length === 0 || ruled.length < found.length || located.some(({ words: [program] }) => program === '')) return null;
  const usesGit = found.some(isGit);
  if (usesGit && !found.every((program) => isGit(program) || program.joint === '|' || NAMES_ONLY.has(program.words[0] ?? ''))) return null;
  return {
    line: quotedPrograms(located),
    named: ruled.length === 1 ? (ruled[0]?.named ?? null) : null,
    usesGit,
    printsTracked: ruled.some(({ printsTracked }) => printsTracked),
  };
}

function isGit({ words }: Program): boolean {
  return words[0] === 'git';
}

/** They print no content of files, so they may run beside git, where the settings of a repository with their tokens can be read. */
const NAMES_ONLY: ReadonlySet<string> = new Set(['ls', 'pwd', 'echo', 'date', 'which']);

/** The first program, where all others only filter what it prints; null: they do more. */
export function filteredProgramOf(programs: readonly Program[] | null): Program | null {
  const [first = null, ...others] = programs ?? [];
  return others.every((program) => program.joint === '|' && ruledProgram(program) !== null) ? first : null;
}

interface RuledProgram {
  readonly named: Words;
  readonly printsTracked: boolean;
}

function ruledProgram({ words: [program = '', ...given], joint }: Program): RuledProgram | null {
  const args = program === 'git' ? given.slice(given.findIndex((word) => !OF_GIT.has(word))) : given;
  for (const length of program === 'git' ? [2, 1] : [0]) {
    const named = [program, ...args.slice(0, length)];
    const found = COMMAND_RULES.get(named.join(' '));
    if (found === undefined || args.length < length) continue;
    const rule = joint === '|' ? found.piped : found;
    if (program === 'git' && args.some((word) => LEADS_OUT.test(word))) return null;
    if (rule === undefined || !isWithin(args.slice(length), rule)) return null;
    const options = rule.printsTracked?.unlessOnly;
    const isQuiet = options !== undefined && isWithin(args.slice(length), { options });
    return { named, printsTracked: rule.printsTracked !== undefined && !isQuiet };
  }
  return null;
}

/** Only known options, and values that do not look like an option, so that the program reads no word as an option that we did not check. */
function isWithin(args: Words, rule: CommandRule): boolean {
  const { most = Infinity, first, needs } = rule;
  const known = optionsOf(rule);
  const names = new Set<string>();
  const operands: string[] = [];
  for (let at = 0; at < args.length; at += 1) {
    const word = args[at] ?? '';
    if (word === '--' || word === '-') continue;
    if (!word.startsWith('-')) {
      operands.push(word);
      continue;
    }
    const option = known.optionOf(word);
    if (option === null) return false;
    names.add(option.name);
    const next = args[at + 1];
    if (option.takesNext && next !== undefined && !next.startsWith('-')) at += 1;
  }
  if (needs !== undefined && operands.length > 0 && !needs.some((name) => names.has(name))) return false;
  return operands.length <= most && (first === undefined || operands.slice(0, 1).every((word) => first.test(word)));
}

interface KnownOptions {
  /** null: the option is not known. */
  optionOf(word: string): { readonly name: string; readonly takesNext: boolean } | null;
}

type Value = 'none' | 'own' | 'next' | 'any';

const VALUES: Readonly<Record<string, Value>> = { '=': 'any', '?': 'own', ':': 'next' };

/** Long options by their full names only, because programs accept any abbreviation. */
function optionsOf({ options, wholeWords = false }: CommandRule): KnownOptions {
  const values = new Map<string, Value>();
  for (const each of options.trim().split(/\s+/u)) {
    const [, name = '', mark = ''] = /^(.*?)([=?:]?)$/u.exec(each) ?? [];
    const value = VALUES[mark] ?? 'none';
    if (wholeWords || name.startsWith('--')) values.set(name, value);
    else for (const letter of name.slice(1)) values.set(`-${letter}`, value);
  }
  return {
    optionOf(word) {
      if (wholeWords || word.startsWith('--')) {
        const [name = '', own] = word.split(/=([^]*)/u);
        if (wholeWords && /^-\d/u.test(name)) return { name: '-#', takesNext: false }; // a value, as in -mtime -7
        const value = values.get(name);
        if (value === undefined || (own !== undefined && value === 'none')) return null;
        return { name, takesNext: value !== 'none' && value !== 'own' && own === undefined };
      }
      if (/^-\d+$/u.test(word) && values.has('-#')) return { name: '-#', takesNext: false };
      for (let at = 1; at < word.length; at += 1) {
        const name = `-${word.charAt(at)}`;
        const value = values.get(name);
        const isLast = at === word.length - 1;
        if (value === undefined || (value === 'next' && !isLast)) return null;
        if (value !== 'none') return { name, takesNext: value !== 'own' && isLast };
      }
      return { name: word.slice(0, 2), takesNext: false };
    },
  };
}

/** Options before the subcommand that do not change what it does. */
const OF_GIT: ReadonlySet<string> = new Set(['--no-pager', '-P', '--no-optional-locks']);
/**
 * Paths that lead out of the repository or into `.git`. git compares two files of which one is outside even if it does not keep them, so it
 * could print keys in `.git`.
 */
const LEADS_OUT = /(?:^|=)\/|(?:^|[/=:])(?:\.\.|\.git)(?:\/|$)/u;
