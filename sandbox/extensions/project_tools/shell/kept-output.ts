/** The beginning and the end of a long output. */
export class KeptOutput {
  #head = '';
  #tail = '';
  #length = 0;

  constructor(private readonly most: number) {}

  add(text: string): void {
    this.#length += text.length;
    const room = this.most / 2 - this.#head.length;
    this.#head += text.slice(0, Math.max(0, room));
    this.#tail = (this.#tail + text.slice(Math.max(0, room))).slice(-this.most / 2);
  }

  get text(): string {
    const left = this.#length - this.#head.length - this.#tail.length;
    return left === 0
      ? this.#head + this.#tail
      : `${this.#head.replace(CUT_END, '')}\n… ${left} characters left out …\n${this.#tail.replace(CUT_START, '')}`;
  }
}

/** A lone surrogate, where a cut divided a character. */
const CUT_END = /[\ud800-\udbff]$/u;
const CUT_START = /^[\udc00-\udfff]/u;
