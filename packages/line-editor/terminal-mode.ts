/** The terminal's streams, or their replacements in tests. */
export interface TerminalStreams {
  readonly input: NodeJS.ReadableStream & { setRawMode?(on: boolean): unknown; readonly isTTY?: boolean };
  readonly output: NodeJS.WritableStream & { readonly columns?: number; readonly rows?: number; readonly isTTY?: boolean };
}

/** Asks the terminal to mark pasted text, and to report its focus, and Shift, Alt and Ctrl, where it can. */
const ON = '\u001b[?2004h\u001b[?1004h\u001b[>1u';
const OFF = '\u001b[?1004l\u001b[<u\u001b[?2004l';

/** Puts the terminal into raw mode. Restores it however the process ends. */
export class TerminalMode {
  #on = false;

  constructor(
    private readonly terminal: TerminalStreams,
    private readonly resized: () => void,
  ) {}

  enter(): void {
    if (this.#on) return;
    this.#on = true;
    this.terminal.input.setRawMode?.(true);
    this.terminal.output.write(ON);
    this.terminal.output.on('resize', this.resized);
    process.on('exit', this.#exit);
  }

  leave(): void {
    if (!this.#on) return;
    this.#on = false;
    process.off('exit', this.#exit);
    this.terminal.output.off('resize', this.resized);
    this.terminal.output.write(OFF);
    this.terminal.input.setRawMode?.(false);
  }

  /** Ctrl-Z: the shell has the terminal until the process continues, which calls `back`; at once where there is no terminal. */
  suspend(back: () => void): void {
    if (this.terminal.input.setRawMode === undefined) return back();
    this.leave();
    const resume = () => {
      process.off('SIGCONT', resume);
      if (this.#on) return;
      this.enter();
      back();
    };
    process.on('SIGCONT', resume);
    process.kill(process.pid, 'SIGTSTP');
    setImmediate(resume); // not a delay: where no shell waits for the process, the signal has no effect and this runs next
  }

  readonly #exit = (): void => void this.terminal.output.write(OFF);
}
