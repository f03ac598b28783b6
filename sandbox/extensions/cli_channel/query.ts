import { matchCommand, parseCommandInput, type Command, type CommandIO, type JsonValue } from 'pith';

/** Runs a command for what it prints as JSON; null when there is no such command. Rejects as the command does. */
export async function query(commands: readonly Command[], words: readonly string[], signal: AbortSignal): Promise<JsonValue> {
  const found = matchCommand(commands, words);
  if (found === null) return null;
  let answer: JsonValue = null;
  await found.command.run(
    parseCommandInput(found.command, found.rest),
    silentIO((value) => (answer = value)),
    signal,
  );
  return answer;
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

function silentIO(json: (value: JsonValue) => void): CommandIO {
  return {
    print: () => undefined,
    error: () => undefined,
    json,
    ask: () => Promise.resolve(null),
    input: { async *[Symbol.asyncIterator]() {} },
    interactive: false,
    wantsJson: true,
    quiet: true,
    colour: false,
    columns: 80,
  };
}
