import { clean } from '@pith/skill-files';

/** A tag or a source as a heading. What begins a line is read as Pith's own words where it looks like them: `[System]`, a list, code. */
export function headingOf(text: string): string {
  const plain = clean(text.replace(/[^\p{L}\p{M}\p{N}/@#&+._-]+/gu, ' '));
  return [...plain.replace(/^[^\p{L}\p{N}/]+/u, '')].slice(0, 40).join('').trim();
}
