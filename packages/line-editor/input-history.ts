import { atEnd, type EditedText } from './edited-text.ts';

const MOST = 1000;

/** The sent messages, and the person's position among them. Their draft comes back below the newest. */
export class InputHistory {
  /** Newest first. */
  readonly #entries: string[];
  #at = -1;
  #draft = '';

  constructor(entries: readonly string[]) {
    this.#entries = [...new Set(entries)].slice(0, MOST);
  }

  add(text: string): void {
    const known = this.#entries.indexOf(text);
    if (known >= 0) this.#entries.splice(known, 1);
    this.#entries.unshift(text);
    if (this.#entries.length > MOST) this.#entries.pop();
    this.leave();
  }

  /** Resets the position to below the newest. */
  leave(): void {
    this.#at = -1;
    this.#draft = '';
  }

  /** The next older message; null at the oldest. */
  older(typed: string): EditedText | null {
    const entry = this.#entries[this.#at + 1];
    if (entry === undefined) return null;
    if (this.#at < 0) this.#draft = typed;
    this.#at += 1;
    return atEnd(entry);
  }

  /** The next newer message or the draft; null below the newest. */
  newer(): EditedText | null {
    if (this.#at < 0) return null;
    this.#at -= 1;
    return atEnd(this.#at < 0 ? this.#draft : (this.#entries[this.#at] ?? ''));
  }

  /** The next entry that contains `part`, from index `from` on; null when there is none. */
  find(part: string, from: number): { readonly at: number; readonly text: string } | null {
    if (part === '') return null;
    const wanted = part.toLowerCase();
    const at = this.#entries.findIndex((entry, index) => index >= from && entry.toLowerCase().includes(wanted));
    const text = this.#entries[at];
    return text === undefined ? null : { at, text };
  }
}
