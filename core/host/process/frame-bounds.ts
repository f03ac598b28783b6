import { DEEPEST_VALUE, MOST_PARTS } from '../calls/data-bounds.ts';

/** How deep a message may be: a value, and room for what the message itself and the shape of an answer add to it. */
export const DEEPEST_MESSAGE = DEEPEST_VALUE + 8;

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const [LIST, LIST_END, OBJECT, OBJECT_END] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Counts what JSON would become before anything of it is made: how deep it is, and how many parts it has. The length of its texts and names
 * is bounded by that of the message. Throws in words that end a sentence. Whether it is JSON at all is for the parser to say.
 */
export function checkBounds(json: Uint8Array): void {
  let depth = 0;
  let parts = 1;
  for (let at = 0; at < json.length; at += 1) {
    switch (json[at]) {
      case QUOTE:
        for (at += 1; at < json.length && json[at] !== QUOTE; at += 1) if (json[at] === BACKSLASH) at += 1;
        break;
      case LIST:
      case OBJECT:
        depth += 1;
        parts += 1;
        break;
      case LIST_END:
      case OBJECT_END:
        depth -= 1;
        break;
      case COMMA:
        parts += 1;
        break;
    }
    if (depth > DEEPEST_MESSAGE) throw new Error(`it is deeper than ${DEEPEST_VALUE}`);
    if (parts > MOST_PARTS) throw new Error(`it has more than ${MOST_PARTS} parts`);
  }
}
