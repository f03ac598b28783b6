import type { CleanStream } from '../agents/ports.ts';

/** Less than this of a secret's beginning says nothing. */
const SHORTEST_BEGINNING = 6;

/** A text of which `forms` must not be seen, as it comes piece by piece: only what may be the beginning of one is held back. */
export function cleanStream(forms: readonly string[], redact: (text: string) => string, broken: (form: string) => string): CleanStream {
  let held = '';
  return {
    feed(piece) {
      const text = held + piece;
      const end = whole(text, forms);
      held = text.slice(end);
      return end === 0 ? '' : redact(text.slice(0, end));
    },
    end() {
      const text = redact(held);
      const begun = text === held ? forms.find((form) => isMuchOf(form, text)) : undefined;
      held = '';
      return begun === undefined ? text : broken(begun);
    },
  };
}

/** An answer may break off within a secret: most of it is as good as all of it. */
function isMuchOf(form: string, text: string): boolean {
  return text.length >= SHORTEST_BEGINNING && text.length * 2 >= form.length && form.startsWith(text);
}

/** How much of `text` is sure not to end within a form. */
function whole(text: string, forms: readonly string[]): number {
  let end = text.length;
  for (const form of forms) end = Math.min(end, beginningAt(text, form));
  // What is found whole must not be cut in two.
  for (let before = text.length; before !== end;) {
    before = end;
    for (const form of forms) {
      const at = text.lastIndexOf(form, end - 1);
      if (at >= 0 && at < end && at + form.length > end) end = at;
    }
  }
  return end;
}

/** Where the longest beginning of `form` stands at the end of `text`; its length when there is none. */
function beginningAt(text: string, form: string): number {
  const first = form[0] as string;
  for (let at = text.indexOf(first, Math.max(0, text.length - form.length + 1)); at >= 0; at = text.indexOf(first, at + 1)) {
    if (form.startsWith(text.slice(at))) return at;
  }
  return text.length;
}
