import type { CommandIO } from '../contract/protocols/command-provider.ts';
import { askOn } from './ask.ts';
import { inputLines } from './input-lines.ts';
import { printable, printableJson, printablePainted } from '../contract/printable.ts';
import { wrapLines } from './wrap.ts';

/** The streams of a process, or their stand-ins in tests. */
export interface Stdio {
  readonly input: NodeJS.ReadStream | NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
  readonly error: NodeJS.WritableStream;
}

export interface TerminalOptions {
  readonly json: boolean;
  readonly quiet: boolean;
  /** NO_COLOR is set to something. */
  readonly noColour: boolean;
  /** Where the command was typed. */
  readonly workingDirectory: string;
}

/** A command's input and output on the standard streams. Nothing that it says steers a terminal, but for Pith's own colours. */
export function terminalIO(stdio: Stdio, options: TerminalOptions): CommandIO {
  const interactive = !options.json && isTerminal(stdio.output) && isTerminal(stdio.input); // the input last: opening it takes its time
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
    colour,
    get columns() {
      return (stdio.output as Partial<NodeJS.WriteStream>).columns || 80; // a terminal that does not know says 0
    },
  };
}

/** A terminal would break it inside words. */
export function writeError({ error }: Pick<Stdio, 'error'>, told: string): void {
  const text = printable(told);
  error.write(asLine(isTerminal(error) ? wrapLines(text, (error as Partial<NodeJS.WriteStream>).columns || 80) : text));
}

export function isTerminal(stream: object): boolean {
  return 'isTTY' in stream && stream.isTTY === true;
}

function asLine(text: string): string {
  return text.endsWith('\n') ? text : `${text}\n`;
}
