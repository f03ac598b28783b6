/** A piece of an answer: text, or the model's reasoning. */
export type Said = readonly [kind: 'text' | 'reasoning', text: string];

const TAGS: readonly (readonly [opening: string, closing: string])[] = [
  ['<think>', '</think>'],
  ['<thinking>', '</thinking>'],
  ['<thought>', '</thought>'],
  ['[THINK]', '[/THINK]'],
  ['◁think▷', '◁/think▷'],
];
/** Templates of such models write the opening tag themselves, so that only the closing one arrives. */
const THINKERS = /(?:^|[^a-z])(?:r1|qwq|think(?:ing|er)?|reason(?:ing|er)?)(?![a-z])/i;
const NON_THINKERS = /(?:^|[^a-z])(?:non?|not|without)[^a-z]?(?:think|reason)|(?:think|reason)(?:ing)?[^a-z](?:off|none|disabled)/i;
/** At most so many characters that may be reasoning are held back, so that the answer appears early. */
const MOST_HELD = 4000;
const CLOSING = TAGS.map(([, closing]) => closing.replace(/[[\]]/g, '\\$&')).join('|');
/** A closing tag without an opening one; in the middle of a line it is a quotation. */
const END_OF_THOUGHT = new RegExp(`(?<=^|\\n)(?:${CLOSING})|(?:${CLOSING})(?=[ \\t]*\\r?\\n)`);

/**
 * Separates reasoning between tags from the answer. Only reasoning at the start counts: a tag that an answer quotes stays. `thoughtApart`
 * says that the server separates it itself.
 */
export class ThinkTags {
  private state: 'begin' | 'unmarked' | 'thought' | 'said';
  private closing = '';
  private hasThought = false;
  /** Text that may be either. */
  private held = '';

  constructor(model: string) {
    this.state = THINKERS.test(model) && !NON_THINKERS.test(model) ? 'unmarked' : 'begin';
  }

  /** From now on, text without a tag is never reasoning. */
  thoughtApart(): void {
    if (this.state === 'unmarked' && this.held === '') this.state = 'begin';
  }

  feed(text: string): readonly Said[] {
    if (this.state === 'said') return [['text', text]];
    this.held += text;
    if (this.state === 'thought') return this.thought();
    const begun = this.held.trimStart();
    const tag = TAGS.find(([opening]) => begun.startsWith(opening));
    if (tag !== undefined) return this.open(tag[1], begun.slice(tag[0].length));
    if (TAGS.some(([opening]) => opening.startsWith(begun))) return []; // also for white space only
    return this.state === 'begin' ? this.say() : this.unmarked(this.held);
  }

  /** The text that was held back, at the end of the answer. */
  end(): readonly Said[] {
    if (this.state === 'thought') return this.think(this.held);
    return [...(this.state === 'unmarked' ? this.unmarked(`${this.held}\n`) : []), ...this.say()];
  }

  private open(closing: string, rest: string): readonly Said[] {
    this.state = 'thought';
    this.closing = closing;
    this.held = rest;
    return this.thought();
  }

  private thought(): readonly Said[] {
    const at = this.held.indexOf(this.closing);
    if (at >= 0) return this.close(at, this.closing.length);
    const end = this.held.length - overlap(this.held, this.closing);
    const thought = this.held.slice(0, end);
    this.held = this.held.slice(end);
    return this.think(thought);
  }

  /** Held back until the closing tag: if none comes, or one that is quoted with its opening tag, it was not reasoning. */
  private unmarked(held: string): readonly Said[] {
    const end = END_OF_THOUGHT.exec(held);
    const isQuoted = TAGS.some(([opening]) => held.slice(0, end?.index).includes(opening));
    if (isQuoted || (end === null && held.length > MOST_HELD)) return this.say();
    return end === null ? [] : this.close(end.index, end[0].length);
  }

  private close(at: number, length: number): readonly Said[] {
    const thought = this.think(this.held.slice(0, at));
    const rest = this.held.slice(at + length);
    this.held = '';
    this.hasThought = true;
    this.state = 'begin';
    return rest === '' ? thought : [...thought, ...this.feed(rest)];
  }

  private think(thought: string): readonly Said[] {
    return thought === '' ? [] : [['reasoning', thought]];
  }

  private say(): readonly Said[] {
    const text = this.hasThought ? this.held.trimStart() : this.held; // drops white space between reasoning and answer
    this.held = '';
    if (text === '') return [];
    this.state = 'said';
    return [['text', text]];
  }
}

/** How many characters at the end of `text` may begin `tag`. */
function overlap(text: string, tag: string): number {
  for (let length = Math.min(text.length, tag.length - 1); length > 0; length -= 1) if (text.endsWith(tag.slice(0, length))) return length;
  return 0;
}
