import { createInterface, type Interface } from 'node:readline';
import { wrapLines } from '@pith/plain-text';
import type { LineEditorOptions, LineSource } from './line-editor.ts';

type PlainOptions = Pick<LineEditorOptions, 'terminal' | 'escaped' | 'entered' | 'ended'>;

/** A line that stops the answer. */
const STOP = '/stop';

/** Reads lines that the terminal itself edits. Nothing is ever redrawn, for screen readers and terminals that cannot move their cursor. */
export class PlainLines implements LineSource {
  readonly #lines: Interface;
  readonly #queue: string[] = [];
  #waiting: ((text: string | null) => void) | null = null;
  #asking: ((text: string | null) => void) | null = null;
  #before: string[] = [];
  #ended = false;
  /** The last printed text has no line end. */
  #isOpen = false;

  constructor(private readonly options: PlainOptions) {
    this.#lines = createInterface({ input: options.terminal.input, terminal: false, crlfDelay: Infinity });
    this.#lines.on('line', (line) => this.#line(line));
    this.#lines.on('close', () => this.#end());
  }

  begin(): void {
    // no prompt: it would end up in the middle of the next output
  }

  get queued(): number {
    return this.#queue.length;
  }

  next(prompt: string): Promise<string | null> {
    const queued = this.#queue.shift();
    if (queued !== undefined || this.#ended) return Promise.resolve(queued ?? null);
    this.write(prompt);
    return new Promise((resolve) => (this.#waiting = resolve));
  }

  ask(prompt: string, signal: AbortSignal, hidden = false): Promise<string | null> {
    if (this.#ended || signal.aborted) return Promise.resolve(null);
    const { input } = this.options.terminal;
    return new Promise((resolve) => {
      const settle = (text: string | null) => {
        signal.removeEventListener('abort', cancel);
        this.#asking = null;
        if (hidden) {
          input.off('data', watch);
          input.setRawMode?.(false);
          this.write('\n');
        }
        resolve(text === null || !hidden ? text : erased(text));
      };
      const cancel = () => settle(null);
      const watch = (chunk: Uint8Array | string) => {
        if (LEAVES.test(chunk.toString())) settle(null);
      };
      signal.addEventListener('abort', cancel, { once: true });
      if (hidden) {
        input.setRawMode?.(true); // stops the terminal from echoing, and also from editing
        input.on('data', watch);
      }
      this.write(broken(prompt, this.options.terminal.output.columns));
      this.#asking = settle;
    });
  }

  choose(prompt: string, _keys: string, signal: AbortSignal): Promise<string | null> {
    return this.ask(prompt, signal);
  }

  write(text: string): void {
    if (text === '') return;
    this.#isOpen = !text.endsWith('\n');
    this.options.terminal.output.write(text);
  }

  redraw(): void {
    // nothing is redrawn
  }

  takeBack(text = ''): void {
    for (const each of [text, ...this.#queue.splice(0)]) if (each !== '') this.write(`not sent: ${each}\n`);
  }

  submit(text: string): void {
    if (this.#asking === null) this.#line(text);
  }

  clearScreen(): void {
    this.write('\n');
  }

  close(): void {
    if (this.#isOpen) this.write('\n');
    this.#lines.close();
  }

  #line(typed: string): void {
    const line = typed.replace(LEFT, '');
    this.#isOpen = false;
    if (this.#asking !== null) return this.#asking(line);
    if (line.trim() === STOP) {
      if (this.#waiting === null) return this.options.escaped('');
      return this.write('Nothing runs that could be stopped\n');
    }
    if (line.endsWith('\\') && !line.endsWith('\\\\')) return void this.#before.push(line.slice(0, -1));
    const text = [...this.#before.splice(0), line].join('\n');
    if (text.trim() !== '') this.options.entered?.(text);
    const waiting = this.#waiting;
    this.#waiting = null;
    if (waiting === null) this.#queue.push(text);
    else waiting(text);
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#asking?.(null);
    this.#waiting?.(null);
    this.#waiting = null;
    this.options.ended?.();
  }
}

/** The question wrapped between words; its end stays as it was, before the answer. */
function broken(prompt: string, columns = 80): string {
  const text = prompt.trimEnd();
  return wrapLines(text, columns || 80) + prompt.slice(text.length);
}

/** Ctrl-C and Ctrl-D as they come from a terminal that obeys no key. */
const LEAVES = /[\u0003\u0004]/u; // oxlint-disable-line no-control-regex
/** An answer that the person abandoned, up to the key. */
const LEFT = /^.*[\u0003\u0004]/u; // oxlint-disable-line no-control-regex

/** The typed text after its erasing keys: Backspace removes one character, Ctrl-U and Ctrl-W all. */
function erased(typed: string): string {
  const kept: string[] = [];
  for (const character of typed) {
    if (character === '\u007f' || character === '\b') kept.pop();
    else if (character === '\u0015' || character === '\u0017') kept.length = 0;
    else kept.push(character);
  }
  return kept.join('');
}
