import type { SeenFile } from '../../contract/protocols/command-provider.ts';

/** What one command prints and what it says that was made from: an answer to keep, when nothing but printing happened. */
export class AnswerRecord {
  #printed: string[] = [];
  #seen: SeenFile[] | null = null;
  #spoilt = false;

  print(text: string): void {
    this.#printed.push(text);
  }

  madeFrom(seen: Iterable<SeenFile>): void {
    this.#seen = [...(this.#seen ?? []), ...seen];
  }

  /** Something was told on the error stream, or asked: printing the same again would not be the same. */
  spoil(): void {
    this.#spoilt = true;
  }

  /** null: not to be kept. */
  taken(): { readonly output: string; readonly seen: readonly SeenFile[] } | null {
    return this.#spoilt || this.#seen === null ? null : { output: this.#printed.join(''), seen: this.#seen };
  }
}
