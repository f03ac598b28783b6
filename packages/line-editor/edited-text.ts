import { displayWidth, graphemes } from '@pith/plain-text';

/** The text that is being typed. `cursor` counts UTF-16 units and is never inside a grapheme. */
export interface EditedText {
  readonly text: string;
  readonly cursor: number;
}

export const EMPTY: EditedText = { text: '', cursor: 0 };

/** The text with the cursor at its end. */
export function atEnd(text: string): EditedText {
  return { text, cursor: text.length };
}

export function insert({ text, cursor }: EditedText, added: string): EditedText {
  return { text: text.slice(0, cursor) + added + text.slice(cursor), cursor: cursor + added.length };
}

/** Replaces the text between `from` and the cursor with `added`. */
export function replaceBefore({ text, cursor }: EditedText, from: number, added: string): EditedText {
  return { text: text.slice(0, from) + added + text.slice(cursor), cursor: from + added.length };
}

/** Moves the cursor one line up or down in about the same column; null where there is no such line. */
export function moveLine({ text, cursor }: EditedText, step: -1 | 1): EditedText | null {
  const start = lineStart(text, cursor);
  const column = displayWidth(text.slice(start, cursor));
  const other = step < 0 ? start - 1 : lineEnd(text, cursor) + 1;
  if (other < 0 || other > text.length) return null;
  const from = lineStart(text, other);
  const to = lineEnd(text, other);
  let at = from;
  for (const { segment, index } of graphemes(text.slice(from, to))) {
    if (displayWidth(text.slice(from, from + index)) >= column) break;
    at = from + index + segment.length;
  }
  return { text, cursor: at };
}

export type Edit = (edited: EditedText) => EditedText;

/** Movements by the name of their keys. */
export const MOVES: ReadonlyMap<string, Edit> = new Map<string, Edit>([
  ['left', ({ text, cursor }) => ({ text, cursor: before(text, cursor) })],
  ['ctrl-b', ({ text, cursor }) => ({ text, cursor: before(text, cursor) })],
  ['right', ({ text, cursor }) => ({ text, cursor: after(text, cursor) })],
  ['ctrl-f', ({ text, cursor }) => ({ text, cursor: after(text, cursor) })],
  ['home', ({ text, cursor }) => ({ text, cursor: lineStart(text, cursor) })],
  ['ctrl-a', ({ text, cursor }) => ({ text, cursor: lineStart(text, cursor) })],
  ['end', ({ text, cursor }) => ({ text, cursor: lineEnd(text, cursor) })],
  ['ctrl-e', ({ text, cursor }) => ({ text, cursor: lineEnd(text, cursor) })],
  ['ctrl-home', ({ text }) => ({ text, cursor: 0 })],
  ['ctrl-end', ({ text }) => atEnd(text)],
  ['ctrl-left', ({ text, cursor }) => ({ text, cursor: wordBefore(text, cursor) })],
  ['alt-left', ({ text, cursor }) => ({ text, cursor: wordBefore(text, cursor) })],
  ['alt-b', ({ text, cursor }) => ({ text, cursor: wordBefore(text, cursor) })],
  ['ctrl-right', ({ text, cursor }) => ({ text, cursor: wordAfter(text, cursor) })],
  ['alt-right', ({ text, cursor }) => ({ text, cursor: wordAfter(text, cursor) })],
  ['alt-f', ({ text, cursor }) => ({ text, cursor: wordAfter(text, cursor) })],
]);

/** Keys that delete characters. */
export const ERASURES: ReadonlyMap<string, Edit> = new Map<string, Edit>([
  ['backspace', (edited) => cut(edited, before(edited.text, edited.cursor), edited.cursor)],
  ['ctrl-h', (edited) => cut(edited, before(edited.text, edited.cursor), edited.cursor)],
  ['delete', (edited) => cut(edited, edited.cursor, after(edited.text, edited.cursor))],
]);

/** Keys that delete longer parts, which Ctrl-Y restores. */
export const KILLS: ReadonlyMap<string, Edit> = new Map<string, Edit>([
  [
    'ctrl-k',
    (edited) => {
      const end = lineEnd(edited.text, edited.cursor);
      return cut(edited, edited.cursor, end === edited.cursor ? after(edited.text, end) : end);
    },
  ],
  [
    'ctrl-u',
    (edited) => {
      const start = lineStart(edited.text, edited.cursor);
      return cut(edited, start === edited.cursor ? before(edited.text, start) : start, edited.cursor);
    },
  ],
  ['ctrl-w', (edited) => cut(edited, /\S*\s*$/u.exec(edited.text.slice(0, edited.cursor))?.index ?? 0, edited.cursor)],
  ['alt-backspace', (edited) => cut(edited, wordBefore(edited.text, edited.cursor), edited.cursor)],
  ['alt-d', (edited) => cut(edited, edited.cursor, wordAfter(edited.text, edited.cursor))],
]);

/** The text that one of `KILLS` deleted. */
export function removed(earlier: EditedText, later: EditedText): string {
  return earlier.text.slice(later.cursor, later.cursor + earlier.text.length - later.text.length);
}

function cut({ text }: EditedText, from: number, to: number): EditedText {
  return { text: text.slice(0, from) + text.slice(to), cursor: from };
}

function lineStart(text: string, at: number): number {
  return at === 0 ? 0 : text.lastIndexOf('\n', at - 1) + 1;
}

function lineEnd(text: string, at: number): number {
  const end = text.indexOf('\n', at);
  return end < 0 ? text.length : end;
}

function before(text: string, at: number): number {
  if (at === 0) return 0;
  const from = lineStart(text, at - 1);
  if (from === at) return at - 1; // past the end of a line
  return from + ([...graphemes(text.slice(from, at))].at(-1)?.index ?? 0);
}

function after(text: string, at: number): number {
  for (const { segment } of graphemes(text.slice(at))) return at + segment.length;
  return at;
}

function wordBefore(text: string, at: number): number {
  return /[\p{L}\p{N}\p{M}_]*[^\p{L}\p{N}\p{M}_]*$/u.exec(text.slice(0, at))?.index ?? 0;
}

function wordAfter(text: string, at: number): number {
  return at + (/^[^\p{L}\p{N}\p{M}_]*[\p{L}\p{N}\p{M}_]*/u.exec(text.slice(at))?.[0].length ?? 0);
}
