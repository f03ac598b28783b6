import { FileRefused } from '@pith/safe-files';
import { usesCrLf } from './text-change.ts';

/** One exact replacement. */
export interface Edit {
  readonly old_text: string;
  readonly new_text: string;
  readonly all: boolean;
}

/** The text after all edits, each on what the ones before it left. Throws for the first that does not match once: then none counts. */
export function applyEdits(path: string, text: string, edits: readonly Edit[]): string {
  const inFile = (part: string) => (usesCrLf(text) ? part.replaceAll(/\r?\n/gu, '\r\n') : part);
  return edits.reduce((before, { old_text, new_text, all }, index) => {
    const [wanted, replacement] = [inFile(old_text), inFile(new_text)];
    const which = edits.length === 1 ? 'old_text' : `old_text of edit ${index + 1}`;
    if (wanted === replacement) throw refused('edit_empty', `${which} and new_text are the same`);
    const places = placesOf(before, wanted);
    if (places.length === 0) throw refused('edit_no_match', `${which} does not occur in '${path}'${nearestHint(before, wanted)}`);
    if (places.length > 1 && !all)
      throw refused(
        'edit_many_matches',
        `${which} occurs ${places.length} times in '${path}', on lines ${places
          .slice(0, 8)
          .map((at) => lineAt(before, at))
          .join(', ')}; add lines around it so that it occurs once, or set all`,
      );
    return before.split(wanted).join(replacement);
  }, text);
}

function placesOf(text: string, wanted: string): readonly number[] {
  const places: number[] = [];
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) places.push(at);
  return places;
}

function lineAt(text: string, index: number): number {
  return text.slice(0, index).split('\n').length;
}

/** Models often get the space at the beginning of lines wrong: where the rest fits, they learn the line. */
function nearestHint(text: string, wanted: string): string {
  const bare = (line: string) => line.trim().replaceAll(/\s+/gu, ' ');
  const first = wanted
    .split(/\r?\n/u)
    .map(bare)
    .find((line) => line !== '');
  const at = first === undefined ? -1 : text.split(/\r?\n/u).findIndex((line) => bare(line) === first);
  return at < 0
    ? '; read the file and copy it exactly'
    : `; line ${at + 1} differs only in white space, or what follows it differs: copy it exactly`;
}

function refused(code: string, message: string): FileRefused {
  return new FileRefused(code, `${message}. Nothing was changed`);
}
