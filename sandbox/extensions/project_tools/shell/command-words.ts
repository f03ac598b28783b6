import { parse } from 'shell-quote';

/**
 * The words of a command that is one program with plain arguments; null for anything that a shell would make more of: several commands,
 * pipes, redirections, substitutions, variables, patterns, comments, more than one line, other kinds of space.
 */
export function plainWords(command: string): readonly string[] | null {
  if (/[$`\0!~\\{}]|(?! )\s/u.test(command)) return null; // bash takes only some kinds of space for one
  const entries = parse(command);
  if (!entries.every((entry) => typeof entry === 'string')) return null;
  return entries.length === 0 || /^\w+=/u.test(entries[0] ?? '') ? null : entries;
}

/** Programs whose first argument says what they do. Not those that run whatever is named next, such as `npx` and `docker`. */
const WITH_SUBCOMMANDS: ReadonlySet<string> = new Set(
  'npm pnpm yarn bun git cargo go make just task pip pip3 gradle ./gradlew mvn dotnet rake mix composer swift'.split(' '),
);
/** Subcommands that run what is named next: a script of the project, or any program. */
const SCRIPTS = 'run';
const ANY_PROGRAM: ReadonlySet<string> = new Set(['exec', 'x', 'dlx', 'create', 'init', 'config']);

/** What `always` covers of a command. */
export interface CommandPrefix {
  readonly words: readonly string[];
  /** Whatever follows the words is covered too; else nothing but this very command is. */
  readonly isOpen: boolean;
}

/** The program with what it is to do (`npm test`, `npm run build`), or the whole of it. null: `always` is not offered. */
export function prefixOf(command: string): CommandPrefix | null {
  const words = plainWords(command);
  if (words === null) return null;
  const whole = { words, isOpen: false };
  const [program = '', verb, next] = words;
  if (!WITH_SUBCOMMANDS.has(program) || verb === undefined || verb.startsWith('-')) return whole;
  if (ANY_PROGRAM.has(verb)) return whole;
  if (verb !== SCRIPTS) return { words: [program, verb], isOpen: true };
  return next === undefined || next.startsWith('-') ? whole : { words: [program, verb, next], isOpen: true };
}
