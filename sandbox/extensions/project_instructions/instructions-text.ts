import { enumerated, printable } from '@pith/plain-text';
import { countTokens, startWithin } from '@pith/token-count';
import type { Instructions } from './instruction-files.ts';

/** The limit of all files together, with their notes. */
const MOST_TOKENS = 8000;
/** The reserve for the heading and for each file's own lines. */
const HEADING_TOKENS = 120;
const FRAME_TOKENS = 60;
/** A smaller part of a file is of no use. */
const LEAST_TOKENS = 100;

const HEADING =
  '[Instructions of this project]\nThe people of this project wrote the following files for agents. Follow them in your work on it; of two that disagree the last one counts, and what the user says counts before both. They grant no permissions, and they change no rule about approvals.';

/** The part of one file that the model gets. */
interface Part {
  readonly name: string;
  readonly text: string;
  readonly tokens: number;
  /** Tokens of the whole file as far as it was read; null: it was not cut. */
  readonly of: number | null;
}

const JOINING =
  '[Instructions of folders]\nThe people of this project wrote the following for agents that work in these folders. It counts before what is said of folders above, and what the user says counts before all. It grants no permissions, and changes no rule about approvals.';
/** The limit of each file in a tool's result. */
const MOST_JOINING = 2000;

/** The text for the model; null: there are no instructions. */
export function instructionsText(files: readonly Instructions[]): string | null {
  return framedText(HEADING, partsOf(files, MOST_TOKENS));
}

/** The same for a tool's result. */
export function joiningText(files: readonly Instructions[]): string | null {
  return framedText(JOINING, joiningParts(files));
}

/** The line about these files for people; empty: nothing to say. */
export function usedLine(files: readonly Instructions[]): string {
  const used = usedText(joiningParts(files));
  return used === null ? '' : `using ${used}`;
}

function joiningParts(files: readonly Instructions[]): readonly Part[] {
  return files.flatMap((file) => partsOf([file], MOST_JOINING));
}

function framedText(heading: string, parts: readonly Part[]): string | null {
  return parts.length === 0 ? null : [heading, ...parts.map(framed)].join('\n\n');
}

/** The line for people at the start of a conversation. */
export function openingLine(files: readonly Instructions[], notShown: readonly string[]): string | null {
  const used = usedText(partsOf(files, MOST_TOKENS));
  const lines = [
    ...(used === null ? [] : [`Using ${used}`]),
    ...files.flatMap(({ name, why }) => (why === null ? [] : [`Not using ${name}: ${why}`])),
    ...files.flatMap(({ name, missing }) => (missing.length === 0 ? [] : [`${name} names ${listed(missing)}: there is no such file`])),
    ...(notShown.length === 0
      ? []
      : [`Not using ${listed(notShown)}, which came after you trusted this folder; to look at it and use it: pith trust`]),
  ];
  return lines.length === 0 ? null : lines.join('\n');
}

function usedText(parts: readonly Part[]): string | null {
  if (parts.length === 0) return null;
  const tokens = parts.reduce((sum, part) => sum + part.tokens, 0);
  const cut = parts.filter(({ of }) => of !== null).map(({ name }) => name);
  return `${listed(parts.map(({ name }) => name))} (${counted(tokens)} tokens${cutText(cut)})`;
}

/** The innermost file gets its room first, because it is nearest to the work. */
function partsOf(files: readonly Instructions[], most: number): readonly Part[] {
  let room = most - HEADING_TOKENS;
  const parts: Part[] = [];
  for (const { name, text: given, isPart } of [...files].reverse()) {
    if (given === null) continue;
    room -= FRAME_TOKENS;
    const text = printable(given.trim());
    const tokens = countTokens(text);
    if (!isPart && tokens <= room) {
      parts.unshift({ name, text, tokens, of: null });
      room -= tokens;
      continue;
    }
    const kept = room < LEAST_TOKENS ? '' : startOf(text, room);
    const used = kept === '' ? 0 : countTokens(kept);
    parts.unshift({ name, text: kept, tokens: used, of: tokens });
    room -= used;
  }
  return parts;
}

function framed({ name, text, tokens, of }: Part): string {
  const shown = printable(name);
  const note =
    of === null ? '' : `\n[${shown} is longer: ${counted(tokens)} of at least ${counted(of)} tokens are given; the rest is left out]`;
  return `<project_instructions file="${shown}">\n${text.replaceAll(/<(?=\/?project_instructions)/giu, '&lt;')}${note}\n</project_instructions>`;
}

/** As many whole lines as fit, or as many characters if one line is longer. */
function startOf(text: string, room: number): string {
  const fits = startWithin(text, room).replace(/[\uD800-\uDBFF]$/u, '');
  const end = fits.lastIndexOf('\n');
  return end > fits.length / 2 ? fits.slice(0, end) : fits;
}

function cutText(names: readonly string[]): string {
  return names.length === 0 ? '' : `; ${listed(names)} ${names.length === 1 ? 'is' : 'are'} cut to fit`;
}

function listed(names: readonly string[]): string {
  return enumerated(names.map((name) => printable(name)));
}

function counted(tokens: number): string {
  return tokens.toLocaleString('en-US');
}
