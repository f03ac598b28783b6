import type { EditedText } from './edited-text.ts';

/** A pasted text with more lines is shown as one mark. */
const MOST_LINES = 8;
const MOST_LENGTH = 2000;

/** Long texts that marks such as `[60 lines]` stand for while a message is being edited. */
export class FoldedText {
  readonly #texts = new Map<string, string>();

  /** The text, or the mark that stands for it. `edited`: where it goes; each mark in it means one text. */
  fold(text: string, edited: string): string {
    const lines = text.split('\n').length;
    if (lines <= MOST_LINES && text.length <= MOST_LENGTH) return text;
    const label = lines > MOST_LINES ? `${lines} lines` : `${text.length} characters`;
    for (let number = 1; ; number += 1) {
      const mark = number === 1 ? `[${label}]` : `[${label}, ${number}]`;
      const known = this.#texts.get(mark);
      if (edited.includes(mark) && known !== text) continue;
      this.#texts.set(mark, text);
      return mark;
    }
  }

  /** The whole text. */
  unfold(edited: string): string {
    if (this.#texts.size === 0) return edited;
    return edited.replaceAll(MARK, (mark) => this.#texts.get(mark) ?? mark);
  }

  /** Without the mark before the cursor; null where none is. */
  withoutMark({ text, cursor }: EditedText): EditedText | null {
    const mark = MARK_BEFORE.exec(text.slice(0, cursor))?.[0];
    if (mark === undefined || !this.#texts.has(mark)) return null;
    return { text: text.slice(0, cursor - mark.length) + text.slice(cursor), cursor: cursor - mark.length };
  }

  clear(): void {
    this.#texts.clear();
  }
}

const MARK = /\[\d+ (?:lines|characters)(?:, \d+)?\]/gu;
const MARK_BEFORE = new RegExp(`${MARK.source}$`, 'u');
