/** Characters that control, reorder or are invisible; not line ends, tabs, and the joiners that scripts and emoji need. */
const UNSEEN = /[^\P{C}\n\t\u200c\u200d]/gu;

/** A text of a stranger with those written out, as a terminal shows it. */
export function visible(text: string): string {
  return text.replaceAll('\r\n', '\n').replaceAll(UNSEEN, (each) => `\\u{${(each.codePointAt(0) ?? 0).toString(16)}}`);
}
