import { FileRefused } from '@pith/safe-files';
import { withoutReturns } from '@pith/text-changes';

/** One exact replacement. */
export interface Edit {
  readonly old_text: string;
  readonly new_text: string;
  readonly all: boolean;
}

/**
 * The text after all edits, each applied to the result of those before it. Line ends do not count; lines keep theirs, and a new line gets
 * the end of its place. Throws for the first edit that does not match exactly once; then none counts.
 */
export function applyEdits(path: string, text: string, edits: readonly Edit[]): string {
  return edits.reduce((given, edit, index) => {
    const before = withoutReturns(given);
    const [wanted, replacement] = [withoutReturns(edit.old_text), withoutReturns(edit.new_text)];
    const which = edits.length === 1 ? 'old_text' : `old_text of edit ${index + 1}`;
    if (wanted === replacement) throw refused('edit_empty', `${which} and new_text are the same`);
    const places = placesOf(before, wanted);
    if (places.length === 0) throw refused('edit_no_match', `${which} does not occur in '${path}'${hintAbout(before, wanted)}`);
    if (places.length > 1 && !edit.all)
      throw refused(
        'edit_many_matches',
        `${which} occurs ${places.length}${places.length === MOST_PLACES ? ' or more' : ''} times in '${path}', ${whereOf(before, places)}, or set all`,
      );
    return replaced(given, wanted, replacement);
  }, text);
}

/** Lines of the replacement take the ends of the lines that they replace, and then the last of those, or the next one in the text. */
function replaced(text: string, wanted: string, replacement: string): string {
  const place = wanted
    .replaceAll(/[$()*+.?[\\\]^{|}]/gu, String.raw`\$&`)
    .replaceAll('\r', String.raw`\r(?!\n)`) // else it would be half of a line end
    .replaceAll('\n', String.raw`\r?\n`);
  const last = text.lastIndexOf('\n');
  let next = 0;
  // Without `u`, as texts are compared elsewhere: by units, not characters.
  return text.replaceAll(new RegExp(place, 'g'), (match: string, at: number) => {
    const ends = match.match(/\r?\n/gu) ?? [];
    const after = at + match.length;
    if (next < after) next = after > last ? last : text.indexOf('\n', after);
    const further = ends.at(-1) ?? (text[next - 1] === '\r' ? '\r\n' : '\n');
    let line = 0;
    return replacement.replaceAll('\n', () => ends[line++] ?? further);
  });
}

function newlinesIn(text: string): number {
  return text.split('\n').length - 1;
}

/** More are not counted. */
const MOST_PLACES = 100;

/** Includes overlapping ones, since nobody knows which is meant. */
function placesOf(text: string, wanted: string): readonly number[] {
  const places: number[] = [];
  for (let at = text.indexOf(wanted); at >= 0 && places.length < MOST_PLACES; at = text.indexOf(wanted, at + 1)) places.push(at);
  return places;
}

/** The line of each match, and how to make one unique. */
function whereOf(text: string, places: readonly number[]): string {
  const lines = [...new Set(places.map((at) => newlinesIn(text.slice(0, at)) + 1))];
  const [only] = lines;
  if (lines.length === 1) return `all on line ${only}; add more of that line so that it occurs once`;
  return `on lines ${lines.slice(0, 8).join(', ')}${lines.length > 8 ? ' and more' : ''}; add lines around it so that it occurs once`;
}

/** Common mistakes of models: the indentation, look-alike characters, line numbers. */
function hintAbout(text: string, wanted: string): string {
  if (/^ *\d+\t/u.test(wanted)) return '; the numbers before the lines are not part of the file: leave them and the tab out';
  const lines = text.split('\n');
  const first = wanted.split('\n').find((line) => line.trim() !== '') ?? '';
  const near = (simply: (line: string) => string) =>
    simply(first) === '' ? -1 : lines.findIndex((line) => simply(line) === simply(first));
  const spaced = near(withoutSpaces);
  if (spaced >= 0) return `; line ${spaced + 1} differs only in white space, or what follows it differs: copy it exactly`;
  const alike = near((line) => withoutSpaces(withPlainSigns(line)));
  if (alike < 0) return '; read the file and copy it exactly';
  const others = [...new Set(lines[alike])].filter((char) => !first.includes(char)).map(codePointOf);
  return `; line ${alike + 1} only looks like it and has other characters (${others.join(', ') || 'fewer'}): copy it exactly`;
}

function withoutSpaces(line: string): string {
  return line.trim().replaceAll(/\s+/gu, ' ');
}

function withPlainSigns(line: string): string {
  return line
    .normalize('NFKC')
    .replaceAll(/[‘’‚‛′]/gu, "'")
    .replaceAll(/[“”„‟″«»]/gu, '"')
    .replaceAll(/[‐-―−]/gu, '-')
    .replaceAll(/\p{Default_Ignorable_Code_Point}/gu, '');
}

function codePointOf(char: string): string {
  return `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}

function refused(code: string, message: string): FileRefused {
  return new FileRefused(code, `${message}. Nothing was changed`);
}
