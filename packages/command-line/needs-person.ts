import type { CommandShape, ParsedCommand } from './command-line.ts';

interface AskingCommand<IO> extends CommandShape {
  run(input: ParsedCommand, io: IO, signal: AbortSignal): Promise<number | void>;
}

/**
 * The command, refused in a conversation where nobody can answer: piped input may be anybody's text, and must not trust, install or remove
 * anything. On the command line, a person or their program chose the command.
 */
export function needsPerson<IO extends { readonly session?: unknown; readonly interactive: boolean }, C extends AskingCommand<IO>>(
  command: C & AskingCommand<IO>,
  refusal: (message: string, options: { readonly cure: string }) => Error,
): C {
  return {
    ...command,
    async run(input: ParsedCommand, io: IO, signal: AbortSignal) {
      if (io.session === undefined || io.interactive) return command.run(input, io, signal);
      throw refusal(`'${command.path}' is refused here: nobody can answer in this conversation`, {
        cure: `type on the command line: ${typed(command, input)}`,
      });
    },
  };
}

/** The command as one types it into a shell. */
function typed({ path, arguments: names = [], options: known = [] }: CommandShape, { arguments: given, options }: ParsedCommand): string {
  const words = names.flatMap(({ name }) => given[name] ?? []);
  const flags = known.flatMap(({ name, default: defaultValue }) => {
    const values = [options[name] ?? []].flat().filter((value) => value !== false && value !== defaultValue);
    return values.flatMap((value) => (value === true ? [`--${name}`] : [`--${name}`, String(value)]));
  });
  return ['pith', ...path.split(' '), ...[...words, ...flags].map(quoted)].join(' ');
}

function quoted(word: string): string {
  return /^[\w@%+=:,./~-]+$/u.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
