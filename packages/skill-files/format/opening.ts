/** The most characters of a text that replaces a missing description. */
const MOST = 1024;

/** The first heading of a Markdown text and its first paragraph, each as one line; null where there is none. */
export function opening(text: string): { readonly title: string | null; readonly paragraph: string | null } {
  let title: string | null = null;
  const paragraph: string[] = [];
  for (const line of text.slice(0, 16 * MOST).split(/\r?\n/)) {
    const words = line.trim();
    if (words === '' || RULER.test(words)) {
      if (paragraph.length > 0) break;
      continue;
    }
    const mark = HEADING.exec(words)?.[0];
    if (mark !== undefined) {
      if (paragraph.length > 0) break;
      title ??= withoutMarks(words.slice(mark.length));
    } else if (FENCE.test(words)) break;
    else paragraph.push(words.replace(/^>\s*/, ''));
  }
  const whole = paragraph.join(' ').trim();
  const characters = [...whole];
  const cut = characters.length > MOST ? `${characters.slice(0, MOST - 1).join('')}…` : whole;
  return { title, paragraph: cut === '' ? null : cut };
}

const HEADING = /^#{1,6}[ \t]+/;
const RULER = /^(?:[-*_=][ \t]*){3,}$/;
const FENCE = /^(?:```|~~~|<!--)/;

/** A heading may end with the marks that it began with. */
function withoutMarks(heading: string): string {
  let end = heading.length;
  while (heading[end - 1] === '#') end -= 1;
  return heading.slice(0, end).trim() || heading;
}
