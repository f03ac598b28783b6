import type { Command, JsonValue } from 'pith';
import { captureCommand, matchCommand, parseCommandInput } from '@pith/command-line';
import { printableLine } from '@pith/plain-text';

/** Runs a command for what it prints as JSON; null when there is no such command. Rejects as the command does. */
export async function query(commands: readonly Command[], words: readonly string[], signal: AbortSignal): Promise<JsonValue> {
  const found = matchCommand(commands, words);
  if (found === null) return null;
  const { command, rest } = found;
  const { values } = await captureCommand({ getCommands: () => [command] }, command.path, parseCommandInput(command, rest), signal);
  return values.at(-1) ?? null;
}

/** The answer's fields; empty when it is no object. */
export function fields(value: JsonValue): { readonly [key: string]: JsonValue | undefined } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as { readonly [key: string]: JsonValue | undefined })
    : {};
}

export function list(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]) : [];
}

export function text(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

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
