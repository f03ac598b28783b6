import { fstatSync } from 'node:fs';
import { createInterface as createLines } from 'node:readline';
import { createInterface } from 'node:readline/promises';
import { Writable, type Readable } from 'node:stream';
import type { CommandIO } from '../../contract/index.ts';
import { printable, printableJson, printablePainted, wrapLines } from '@pith/plain-text';

/** The streams of a process, or their replacements in tests. */
export interface Stdio {
  readonly input: NodeJS.ReadStream | NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
  readonly error: NodeJS.WritableStream;
}

export interface TerminalOptions {
  readonly json: boolean;
  readonly quiet: boolean;
  /** NO_COLOR is set and not empty. */
  readonly noColour: boolean;
  /** The terminal cannot move its cursor. */
  readonly dumb?: boolean;
  /** Where the command was typed. */
  readonly workingDirectory: string;
  readonly userId: string;
}

/** A command's input and output on the standard streams. No output can control the terminal, except Pith's own colours. */
export function terminalIO(stdio: Stdio, options: TerminalOptions): CommandIO {
  const interactive = !options.json && isTerminal(stdio.output) && isTerminal(stdio.input); // the input last: opening it takes time
  const colour = isTerminal(stdio.output) && !options.noColour && !options.json;
  return {
    print: (text) => {
      if (!options.json) stdio.output.write(asLine(colour ? printablePainted(text) : printable(text)));
    },
    error: (text) => writeError(stdio, text),
    json: (value) => {
      if (options.json) stdio.output.write(`${printableJson(JSON.stringify(value))}\n`);
    },
    ask: async (question, choices) => (interactive ? askOn(stdio, printable(question), choices) : null),
    input: inputLines(() => stdio.input as NodeJS.ReadStream),
    interactive,
    wantsJson: options.json,
    quiet: options.quiet,
    workingDirectory: options.workingDirectory,
    userId: options.userId,
    colour,
    get columns() {
      return (stdio.output as Partial<NodeJS.WriteStream>).columns || 80; // 0 where the terminal does not know its width
    },
    shell: {
      get piped() {
        return isTerminal(stdio.input) ? null : { bytes: stdio.input as Readable, mayBeIdle: isSocket(stdio.input) };
      },
      plain: options.dumb === true,
    },
  };
}

/** Wraps between words, which a terminal would not. */
export function writeError({ error }: Pick<Stdio, 'error'>, message: string): void {
  const text = printable(message);
  error.write(asLine(isTerminal(error) ? wrapLines(text, (error as Partial<NodeJS.WriteStream>).columns || 80) : text));
}

export function isTerminal(stream: object): boolean {
  return 'isTTY' in stream && stream.isTTY === true;
}

function isSocket(input: object): boolean {
  const fd = 'fd' in input ? input.fd : undefined;
  try {
    return typeof fd === 'number' && fstatSync(fd).isSocket();
  } catch {
    return false; // it was never open: its first read reports that
  }
}

function asLine(text: string): string {
  return text.endsWith('\n') ? text : `${text}\n`;
}

/** The lines of `input`. Reads nothing, and does not keep the process alive, before the first line is requested. */
function inputLines(input: () => Readable): AsyncIterable<string> {
  return {
    async *[Symbol.asyncIterator]() {
      const lines = createLines({ input: input(), crlfDelay: Infinity });
      try {
        yield* lines;
      } finally {
        lines.close();
      }
    },
  };
}

/** Asks a person on a terminal; null when they end the input. With choices, asks until one of them is given. */
async function askOn(
  stdio: { readonly input: NodeJS.ReadableStream; readonly output: NodeJS.WritableStream & { readonly columns?: number } },
  question: string,
  options: { readonly choices?: readonly string[]; readonly secret?: boolean } = {},
): Promise<string | null> {
  const { choices, secret } = options;
  const rows = wrapLines(choices ? `${question} [${choices.join('/')}]` : question, stdio.output.columns || Infinity).split('\n');
  const prompt = `${rows.pop() ?? ''} `;
  for (const row of rows) stdio.output.write(`${row}\n`);
  const output = secret ? new Writable({ write: (_chunk, _encoding, done) => done() }) : stdio.output;
  if (secret) stdio.output.write(prompt);
  const lines = createInterface({ input: stdio.input, output, terminal: true, historySize: 0 });
  const ended = new Promise<null>((resolve) => lines.once('close', () => resolve(null)));
  try {
    for (;;) {
      const answer = await Promise.race([lines.question(secret ? '' : prompt), ended]);
      if (answer === null || !choices) return answer;
      const choice = chosen(answer, choices);
      if (choice !== undefined) return choice;
      stdio.output.write(`Answer with ${choices.join(' or ')}\n`);
    }
  } finally {
    lines.close();
    if (secret) stdio.output.write('\n');
  }
}

/** The choice that equals `answer`, or the only one that begins with it. */
function chosen(answer: string, choices: readonly string[]): string | undefined {
  const wanted = answer.trim().toLowerCase();
  const matching = choices.filter((choice) => choice.toLowerCase().startsWith(wanted));
  return choices.find((choice) => choice.toLowerCase() === wanted) ?? (wanted !== '' && matching.length === 1 ? matching[0] : undefined);
}
