import type { Command, JsonValue } from 'pith';
import { captureCommand, matchCommand, parseCommandInput } from '@pith/command-line';

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
