import { createInterface, type Interface } from 'node:readline';
import { Writable } from 'node:stream';
import { answerOf } from './answer-words.ts';
import { widthOf, type Terminal } from './terminal.ts';

export interface LineEditorOptions {
  readonly terminal: Terminal;
  /** Newest first. */
  readonly history: string[];
  complete(line: string): Promise<readonly [readonly string[], string]>;
  /** Ctrl-C. `line` is what was being typed. */
  interrupted(line: string): void;
}

const PASTE_ON = '\u001b[?2004h';
const PASTE_OFF = '\u001b[?2004l';

/** Lines that a person types. What is pasted stays one text; what is typed while others write is kept for the next line. */
export class LineEditor {
  readonly #lines: Interface;
  readonly #typed: string[] = [];
  #waiting: ((line: string | null) => void) | null = null;
  #closed = false;
  #unlisten = () => {};
  #muted = false;
  /** What is asked without showing the answer. */
  #hidden: string | null = null;
  #pasting = false;
  /** Those that answer a question at once; '' where none does. */
  #keys = '';
  /** The last one that did, until the next line. */
  #keyed = '';
  #pasted: string[] = [];

  constructor(private readonly options: LineEditorOptions) {
    const { terminal, history, complete } = options;
    this.#lines = createInterface({
      input: terminal.input,
      output: this.#output(terminal),
      terminal: true,
      history: history.map((line) => line.replaceAll('\n', ' ')),
      historySize: 1000,
      removeHistoryDuplicates: true,
      completer: (line: string, done: (error: null, result: [string[], string]) => void) => {
        void complete(line).then(
          ([hits, part]) => done(null, [[...hits], part]),
          () => done(null, [[], line]),
        ); // no completion is no failure
      },
    });
    terminal.output.write(PASTE_ON);
    terminal.input.on('keypress', this.#keypress);
    this.#lines.on('line', (line) => this.#line(line));
    this.#lines.on('SIGINT', () => options.interrupted(this.#takeLine()));
    this.#lines.on('close', () => this.#end());
  }

  /** The next text; null when the input has ended. */
  next(prompt: string): Promise<string | null> {
    const typed = this.#typed.shift();
    if (typed !== undefined || this.#closed) return Promise.resolve(typed ?? null);
    return new Promise((resolve) => this.#wait(prompt, resolve));
  }

  /**
   * The answer to a question: what was typed before it was asked is none, and is kept. null when the input ends or `signal` takes the
   * question away. `hidden`: what is typed is neither shown nor remembered.
   */
  ask(prompt: string, signal: AbortSignal, hidden = false): Promise<string | null> {
    if (this.#closed || signal.aborted) return Promise.resolve(null);
    return new Promise((resolve) => {
      const withdraw = () => {
        this.#waiting = null;
        this.#hidden = null;
        this.#takeLine(false);
        this.#muted = true;
        this.options.terminal.output.write('\r\u001b[2K');
        resolve(null);
      };
      signal.addEventListener('abort', withdraw, { once: true });
      if (hidden) this.#takeLine(false);
      this.#wait(prompt, (line) => {
        signal.removeEventListener('abort', withdraw);
        resolve(line);
      });
      if (!hidden) return;
      this.#hidden = prompt;
      this.#muted = true;
    });
  }

  /**
   * As `ask`; while nothing has been typed, one key of `keys` answers at once with that key. What was being typed when the question came is a
   * line that Enter ends, so that no key of it answers.
   */
  choose(prompt: string, keys: string, signal: AbortSignal): Promise<string | null> {
    this.#keys = keys;
    return this.ask(prompt, signal).finally(() => (this.#keys = ''));
  }

  #wait(prompt: string, resolve: (line: string | null) => void): void {
    this.#muted = false;
    this.#lines.setPrompt(prompt);
    this.#lines.prompt(true);
    this.#waiting = resolve;
  }

  /** Shows the prompt again after something was written over it. */
  again(): void {
    if (this.#hidden !== null) this.options.terminal.output.write(this.#hidden);
    else if (this.#waiting) this.#lines.prompt(true);
  }

  close(): void {
    this.#lines.close();
  }

  #keypress = (_text: string | undefined, key: { readonly name?: string } | undefined): void => {
    if (key?.name === 'paste-start') this.#pasting = true;
    if (key?.name === 'paste-end') this.#pasting = false;
    if (key?.name === 'up') this.#stayAtOldest();
    const { line } = this.#lines;
    const isKey = this.#waiting !== null && !this.#pasting && this.#pasted.length === 0 && line.length === 1 && this.#keys.includes(line);
    if (isKey) setImmediate(() => this.#chosen(line)); // not the first of several that came at once
  };

  #chosen(key: string): void {
    const waiting = this.#waiting;
    if (waiting === null || this.#keys === '' || this.#lines.line !== key) return;
    this.#takeLine(false);
    this.options.terminal.output.write('\n');
    this.#waiting = null;
    this.#muted = true;
    this.#keyed = key;
    waiting(key);
  }

  /** Node goes one step past the oldest line, to an empty one. */
  #stayAtOldest(): void {
    const { history, historyIndex } = this.#lines as Interface & { readonly history?: readonly string[]; readonly historyIndex?: number };
    if (history !== undefined && history.length > 0 && historyIndex === history.length) this.#lines.write(null, { name: 'down' });
  }

  #line(line: string): void {
    const word = this.#keyed + line;
    const isRest = this.#keyed !== '' && (line === '' || answerOf(word) !== null);
    this.#keyed = '';
    if (isRest) return this.again(); // of the word whose first letter has answered already
    if (this.#hidden !== null) return this.#hiddenLine(line);
    if (this.#pasting) return void this.#pasted.push(line);
    if (line.endsWith('\\') && !line.endsWith('\\\\')) {
      this.#pasted.push(line.slice(0, -1));
      this.#lines.setPrompt('… ');
      return this.#lines.prompt();
    }
    const text = [...this.#pasted, line].join('\n');
    this.#pasted = [];
    const waiting = this.#waiting;
    this.#waiting = null;
    if (!waiting) return void this.#typed.push(text);
    this.#muted = true;
    waiting(text);
  }

  #hiddenLine(line: string): void {
    const { history } = this.#lines as Interface & { readonly history?: string[] };
    if (history?.[0] === line) history.shift(); // it could be brought back with the arrow
    this.#hidden = null;
    this.options.terminal.output.write('\n');
    const waiting = this.#waiting;
    this.#waiting = null;
    waiting?.(line);
  }

  /** Empties the line that is being typed. */
  #takeLine(isShown = true): string {
    const line = [...this.#pasted, this.#lines.line].join('\n');
    this.#pasted = [];
    if (isShown && !this.#muted && line !== '') this.options.terminal.output.write('^C\n');
    (this.#lines as Interface & { line: string; cursor: number }).line = '';
    (this.#lines as Interface & { cursor: number }).cursor = 0;
    return line;
  }

  #end(): void {
    this.#closed = true;
    this.options.terminal.input.off('keypress', this.#keypress);
    this.#unlisten();
    this.options.terminal.output.write(this.#waiting ? `${PASTE_OFF}\n` : PASTE_OFF); // what comes next begins a line
    this.#waiting?.(null);
    this.#waiting = null;
  }

  /** While an answer is written, what is typed is kept but not shown: it would tear the text. */
  #output(terminal: Terminal): Writable {
    const output = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        if (!this.#muted) terminal.output.write(chunk);
        done();
      },
    });
    Object.defineProperties(output, { columns: { get: () => widthOf(terminal) }, isTTY: { value: true } });
    const resized = () => void output.emit('resize');
    terminal.output.on('resize', resized);
    this.#unlisten = () => terminal.output.off('resize', resized);
    return output;
  }
}
