import { PithError, type Command, type CommandInput } from 'pith';

/**
 * The same command, refused in a conversation where nobody can answer: what comes through a pipe may be anybody's text, and none of it
 * may trust, install or remove. On the command line a person, or a program of theirs, chose it.
 */
export function needsPerson(command: Command): Command {
  return {
    ...command,
    run(input, io, signal) {
      if (io.session === undefined || io.interactive) return command.run(input, io, signal);
      throw new PithError('confirmation_needed', `'${command.path}' is refused here: nobody can answer in this conversation`, {
        cure: `type on the command line: ${typed(command, input)}`,
      });
    },
  };
}

/** As it is typed into a shell. */
function typed({ path, arguments: names = [], options: known = [] }: Command, { arguments: given, options }: CommandInput): string {
  const words = names.flatMap(({ name }) => given[name] ?? []);
  const flags = known.flatMap(({ name, default: usual }) => {
    const values = [options[name] ?? []].flat().filter((value) => value !== false && value !== usual);
    return values.flatMap((value) => (value === true ? [`--${name}`] : [`--${name}`, String(value)]));
  });
  return ['pith', ...path.split(' '), ...[...words, ...flags].map(quoted)].join(' ');
}

function quoted(word: string): string {
  return /^[\w@%+=:,./~-]+$/u.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
