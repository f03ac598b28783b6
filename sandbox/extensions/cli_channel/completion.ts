import { printableLine, type Command } from 'pith';
import { fields, list, query, text } from './query.ts';

/** Commands after a slash, and ids after those that take one. The second value is the part that is completed. */
export async function completeLine(
  line: string,
  commands: readonly Command[],
  signal: AbortSignal,
): Promise<readonly [readonly string[], string]> {
  if (!line.startsWith('/')) return [[], line];
  const offered = (words: readonly string[], part: string) => words.filter((word) => word.startsWith(part) && word === printableLine(word));
  const argument = /^\/(agent|thread) (\S*)$/u.exec(line);
  if (argument) {
    const part = argument[2] ?? '';
    const ids = list(await query(commands, [`${argument[1]}s`, 'list'], signal)).flatMap((row) => text(fields(row)['id']) ?? []);
    return [offered(ids, part), part];
  }
  const paths = commands.map(({ path }) => `/${path}`);
  return [offered(paths, line), line];
}
