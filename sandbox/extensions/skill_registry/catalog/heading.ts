import { clean } from '@pith/skill-files';

/** A tag or a source as a heading. What begins a line is read as Pith's own words where it looks like them: `[System]`, a list, code. */
export function headingOf(text: string): string {
  const plain = clean(text.replace(/[^\p{L}\p{M}\p{N}/@#&+._-]+/gu, ' '));
  return [...plain.replace(/^[^\p{L}\p{N}/]+/u, '')].slice(0, 40).join('').trim();
}

/** `headingOf`, made once of each text: many skills share few tags and sources. */
export function headings(): (text: string) => string {
  const known = new Map<string, string>();
  return (text) => {
    const heading = known.get(text) ?? headingOf(text);
    known.set(text, heading);
    return heading;
  };
}
