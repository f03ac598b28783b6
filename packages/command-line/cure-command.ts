/** What cures a problem, as data; at least one of both. */
export interface CureParts {
  /** What to do, without the command. */
  readonly text?: string;
  /** The command that does it: `pith extensions allow sick`. */
  readonly command?: string;
}

/** Takes the first command out of a cure as messages have it: `correct it, or run: pith extensions reload sick`. */
export function cureParts(cure: string): CureParts {
  const begin = BEGIN.exec(cure);
  if (begin === null) return { text: cure };
  const at = begin.index + begin[0].length;
  const length = cure.slice(at).search(END);
  const end = length < 0 ? cure.length : at + length;
  const before = cure.slice(0, at).replace(JOINT, '').replace(LEAD, '').replace(JOINT, '');
  const rest = cure.slice(end).replace(/^[;,)]\s*(?:or (?!run))?/u, '');
  const text = [before, rest].filter((part) => part !== '').join('; ');
  return { ...(text === '' ? {} : { text }), command: cure.slice(at, end) };
}

/** A command begins behind a colon, a bracket, `see` or `with`, or is all that there is. */
const BEGIN = /(?:^|: |\(|\b(?:see|with) )(?=pith [a-z])/u;

/** It ends with its clause. */
const END = /[;,)](?:\s|$)/u;

const JOINT = /(?:[,;:(]|[,;] (?:or|then)| with)?\s*$/u;

/** What leads to a command and says nothing without it. */
const LEAD = /(?:^|(?<=\s))(?:see|run|write|say|(?:or |then )?run (?:it )?(?:in|on) a terminal|with)$/u;
