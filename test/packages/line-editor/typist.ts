import { PassThrough, Writable } from 'node:stream';
import { LineEditor, type LineEditorOptions } from '@pith/line-editor';
import { onTestFinished } from 'vitest';
import { TerminalScreen } from '../../terminal-screen.ts';

export interface Typist {
  readonly editor: LineEditor;
  readonly screen: TerminalScreen;
  /** Everything that was written to the terminal. */
  raw(): string;
  /** Types, and waits until it is shown. */
  type(text: string): Promise<void>;
  resize(columns: number): Promise<void>;
  /** Texts given to `interrupted`; `escaped` adds an Esc. */
  readonly stops: string[];
  end(): void;
}

/** A person at an editor on a terminal that is none. It is closed when the test ends. */
export function typist(options: Partial<LineEditorOptions> = {}, columns = 80, rows = 24): Typist {
  const screen = new TerminalScreen(columns, rows);
  let raw = '';
  const input = Object.assign(new PassThrough(), { isTTY: true });
  const output = Object.assign(
    new Writable({
      write(chunk, _encoding, done) {
        raw += String(chunk);
        screen.write(String(chunk));
        done();
      },
    }),
    { isTTY: true, columns, rows },
  );
  const stops: string[] = [];
  const editor = new LineEditor({
    terminal: { input, output },
    history: [],
    complete: async () => ({ from: 0, items: [] }),
    interrupted: (text) => (stops.push(text), true),
    escaped: () => void stops.push('Esc'),
    ...options,
  });
  onTestFinished(() => editor.close());
  const settled = async () => {
    for (let turn = 0; turn < 4; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  };
  return {
    editor,
    screen,
    raw: () => raw,
    async type(text) {
      input.write(text);
      await settled();
    },
    async resize(to) {
      output.columns = to;
      screen.columns = to;
      output.emit('resize');
      await settled();
    },
    stops,
    end: () => void input.end(),
  };
}

export const ESC = '\u001b';
export const UP = `${ESC}[A`;
export const DOWN = `${ESC}[B`;
export const LEFT = `${ESC}[D`;
export const paste = (text: string) => `${ESC}[200~${text}${ESC}[201~`;
