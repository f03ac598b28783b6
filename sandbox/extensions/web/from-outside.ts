import { printable } from '@pith/plain-text';

/** A text from the web as the model reads it: marked with its source, printable, and unable to end its own mark. */
export function fromOutside(source: string, text: string): string {
  return `<from-outside url="${source.replace(/["<>]/g, encodeURIComponent)}">\n${harmless(text)}\n</from-outside>`;
}

/** Invisible characters go, or become visible; then nothing is left in which a tag could hide. */
function harmless(text: string): string {
  return printable(text.replace(INVISIBLE, '')).replace(TAG, (tag) => tag.replace('<', '&lt;'));
}

/** Hints for line breaks, and byte order marks. */
const INVISIBLE = /[\u00AD\u200B\u2060\uFEFF]/g;
const TAG = /<[\s/\\]*from[\s_-]*outside/gi;
