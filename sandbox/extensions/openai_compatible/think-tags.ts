/** A piece of an answer, and whether the model thinks or speaks. */
export type Said = readonly [kind: 'text' | 'reasoning', text: string];

const TAGS: readonly (readonly [opening: string, closing: string])[] = [
  ['<think>', '</think>'],
  ['<thinking>', '</thinking>'],
  ['<thought>', '</thought>'],
  ['[THINK]', '[/THINK]'],
  ['◁think▷', '◁/think▷'],
];
/** Templates of such models write the opening tag themselves, so that only the closing one comes. */
const THINKERS = /(?:^|[^a-z])(?:r1|qwq|think(?:ing|er)?|reason(?:ing|er)?)(?![a-z])/i;
const NON_THINKERS = /(?:^|[^a-z])(?:non?|not|without)[^a-z]?(?:think|reason)|(?:think|reason)(?:ing)?[^a-z](?:off|none|disabled)/i;
/** So much is held back of what may be a thought: what comes is to be seen. */
const MOST_HELD = 4000;
const CLOSING = TAGS.map(([, closing]) => closing.replace(/[[\]]/g, '\\$&')).join('|');
/** Without an opening tag: one in the middle of a line is quoted. */
const END_OF_THOUGHT = new RegExp(`(?<=^|\\n)(?:${CLOSING})|(?:${CLOSING})(?=[ \\t]*\\r?\\n)`);

/**
 * Sets what a model thinks between tags apart from what it says. Only what begins an answer is thought: a tag that an answer quotes
 * stays. Where the server sets it apart itself, `thoughtApart` says so.
 */
export class ThinkTags {
  private state: 'begin' | 'unmarked' | 'thought' | 'said';
  private closing = '';
  private hasThought = false;
  /** What cannot be told yet. */
  private held = '';

  constructor(model: string) {
    this.state = THINKERS.test(model) && !NON_THINKERS.test(model) ? 'unmarked' : 'begin';
  }

  /** Nothing that comes as text is thought without a tag. */
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
    if (TAGS.some(([opening]) => opening.startsWith(begun))) return []; // also of nothing but blanks
    return this.state === 'begin' ? this.say() : this.unmarked(this.held);
  }

  /** What was held back when nothing more comes. */
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

  /** Held until the closing tag comes: without one, and with one that is quoted together with its opening one, it was no thought. */
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
    const text = this.hasThought ? this.held.trimStart() : this.held; // blanks between thought and answer are none of it
    this.held = '';
    if (text === '') return [];
    this.state = 'said';
    return [['text', text]];
  }
}

/** How many characters at the end of `text` may be the beginning of `tag`. */
function overlap(text: string, tag: string): number {
  for (let length = Math.min(text.length, tag.length - 1); length > 0; length -= 1) if (text.endsWith(tag.slice(0, length))) return length;
  return 0;
}
