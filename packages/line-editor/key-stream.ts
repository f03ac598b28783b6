import { EventEmitter } from 'node:events';
import { emitKeypressEvents, type Interface } from 'node:readline';

/** A key by its name (`left`, `ctrl-a`, `alt-enter`), typed characters, or a pasted text. */
export type Key =
  | { readonly kind: 'key'; readonly name: string }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'paste'; readonly text: string };

/** How long an Esc may be the start of a longer sequence. */
const ESCAPE_MS = 50;

interface NodeKey {
  readonly name?: string;
  readonly ctrl?: boolean;
  readonly meta?: boolean;
  readonly shift?: boolean;
  readonly sequence?: string;
}

/** Decodes a terminal's input. Drops unknown sequences whole. */
export class KeyStream {
  /** Not the input itself, so that its other readers do not interfere. */
  readonly #decoder = new EventEmitter();
  /** The start of a sequence whose rest has not arrived. */
  #sequence = '';
  #paste: string | null = null;
  /** The last line ended with `\r`: a `\n` right after it belongs to that end. */
  #returned = false;

  constructor(
    private readonly input: NodeJS.ReadableStream,
    private readonly listener: { key(key: Key): void; ended(): void },
  ) {
    emitKeypressEvents(this.#decoder as unknown as NodeJS.ReadableStream, { escapeCodeTimeout: ESCAPE_MS } as unknown as Interface);
    this.#decoder.on('keypress', (text: string | undefined, key: NodeKey) => this.#keypress(text ?? '', key));
    this.listen();
  }

  listen(): void {
    this.input.on('data', this.#data);
    this.input.on('end', this.#end);
    this.input.resume();
  }

  /** Leaves the input to others, until `listen`. */
  pause(): void {
    this.input.off('data', this.#data);
    this.input.off('end', this.#end);
    this.input.pause();
  }

  close(): void {
    this.pause();
    this.#decoder.removeAllListeners();
  }

  readonly #data = (chunk: Buffer | string): void => {
    this.#decoder.emit('data', chunk);
    this.#returned = false;
  };

  readonly #end = (): void => this.listener.ended();

  #keypress(text: string, key: NodeKey): void {
    const sequence = key.sequence ?? text;
    if (this.#paste !== null) return this.#pasted(sequence, key.name);
    if (this.#sequence !== '') return this.#continue(sequence);
    if (isUnfinished(sequence)) {
      this.#sequence = sequence;
      return;
    }
    if (key.name === 'paste-start') {
      this.#paste = '';
      return;
    }
    const isSecondEnd = this.#returned && sequence === '\n';
    this.#returned = sequence === '\r';
    if (isSecondEnd) return;
    const known = named(sequence) ?? nameOf(sequence, key);
    if (known !== null) this.listener.key({ kind: 'key', name: known });
    else if (!key.ctrl && !key.meta && isText(sequence)) this.listener.key({ kind: 'text', text: sequence });
  }

  #continue(more: string): void {
    this.#sequence += more;
    if (isUnfinished(this.#sequence)) return;
    const sequence = this.#sequence;
    this.#sequence = '';
    const known = named(sequence);
    if (known === null) return;
    if (known.length === 1) this.listener.key({ kind: 'text', text: known });
    else this.listener.key({ kind: 'key', name: known });
  }

  #pasted(sequence: string, name: string | undefined): void {
    if (name === 'paste-end') {
      const text = this.#paste ?? '';
      this.#paste = null;
      this.listener.key({ kind: 'paste', text });
    } else this.#paste += sequence;
  }
}

/** A control sequence without its last character, or a terminal string without its end. */
function isUnfinished(sequence: string): boolean {
  // oxlint-disable-next-line no-control-regex
  if (sequence.startsWith('\u001b[')) return /^\u001b\[[\x20-\x3f]*$/u.test(sequence) && sequence.length > 2;
  return (
    sequence.startsWith('\u001b') && STRING_BEGINS.test(sequence.slice(1)) && !STRING_ENDS.test(sequence.slice(2)) && sequence.length < 4096
  );
}

const STRING_BEGINS = /^(?:\](?:\d|$)|P(?:[\d>$+!=?]|$))/u;
// oxlint-disable-next-line no-control-regex
const STRING_ENDS = /[\u0003\u0007]|\u001b\\/u;

/** Keys with a modifier that Node does not know, as `CSI code;modifier u` and `CSI 27;modifier;code ~`. A name of one character is text. */
function named(sequence: string): string | null {
  if (sequence === '\u001bOM') return 'enter'; // the keypad's Enter
  if (sequence === '\u001b[I') return 'focus-in';
  if (sequence === '\u001b[O') return 'focus-out';
  // oxlint-disable-next-line no-control-regex
  const [, code, modifier] = /^\u001b\[(\d+)(?::\d*)*(?:;(\d+)(?::\d+)?)?(?:;[\d:]*)?u$/u.exec(sequence) ?? [];
  if (code !== undefined) return withModifier(Number(code), Number(modifier ?? 1));
  // oxlint-disable-next-line no-control-regex
  const [, modifier2, code2] = /^\u001b\[27;(\d+);(\d+)~$/u.exec(sequence) ?? [];
  return code2 === undefined ? null : withModifier(Number(code2), Number(modifier2));
}

function withModifier(code: number, modifier: number): string | null {
  const bits = modifier - 1;
  const isShifted = (bits & 1) !== 0;
  const prefix = `${bits & 4 ? 'ctrl-' : ''}${bits & 2 ? 'alt-' : ''}`;
  const special = SPECIAL.get(code);
  if (special !== undefined) return `${prefix}${isShifted ? 'shift-' : ''}${special}`;
  if (code < 0x20 || code > 0x10ffff || (code >= 0xe000 && code <= 0xf8ff)) return null;
  const character = String.fromCodePoint(code);
  if (prefix !== '') return `${prefix}${character.toLowerCase()}`;
  return isShifted ? character.toUpperCase() : character;
}

const SPECIAL: ReadonlyMap<number, string> = new Map([
  [9, 'tab'],
  [13, 'enter'],
  [27, 'escape'],
  [127, 'backspace'],
]);

/** The name to which a key is bound; null for characters and for keys without a name. */
function nameOf(sequence: string, { name, ctrl, meta, shift }: NodeKey): string | null {
  if (name === undefined) return null;
  if (!ctrl && !meta && isText(sequence)) return null;
  const key = name === 'return' ? 'enter' : name;
  if (key === 'escape') return 'escape';
  return `${ctrl ? 'ctrl-' : ''}${meta ? 'alt-' : ''}${shift && key.length > 1 ? 'shift-' : ''}${key}`;
}

function isText(sequence: string): boolean {
  return /^\P{Cc}+$/u.test(sequence);
}
