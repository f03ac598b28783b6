import { splitWords } from '@pith/plain-text';

/** The values that a person gave a recipe. */
export interface Given {
  /** In order; a name may occur twice. */
  readonly pairs: readonly (readonly [name: string, value: string])[];
  /** The words after them; '' when there are none. */
  readonly text: string;
}

const PAIR = /^([A-Za-z_][A-Za-z0-9_-]*)=([\s\S]*)$/;
/** A pair at the start of a line; quotes keep a value together. */
const TYPED_PAIR = /^[A-Za-z_][A-Za-z0-9_-]*=(?:"(?:\\[\s\S]|[^"\\])*"|'[^']*'|\\[\s\S]|[^\s"'\\])*(?=\s|$)/;

/** Reads a typed line: pairs with quotes as on a command line, then the free text as it is. */
export function givenLine(line: string): Given {
  const pairs: (readonly [string, string])[] = [];
  let rest = line.trim();
  for (let typed = TYPED_PAIR.exec(rest); typed !== null; typed = TYPED_PAIR.exec(rest)) {
    const [, name = '', value = ''] = PAIR.exec(typed[0]) ?? [];
    pairs.push([name, splitWords(value)[0] ?? '']);
    rest = rest.slice(typed[0].length).trimStart();
  }
  return { pairs, text: rest };
}

/** Reads words that a shell has split already. */
export function givenWords(words: readonly string[], text = ''): Given {
  const first = words.findIndex((word) => !PAIR.test(word));
  const end = first === -1 ? words.length : first;
  const pairs = words.slice(0, end).map((word) => {
    const [, name = '', value = ''] = PAIR.exec(word) ?? [];
    return [name, value] as const;
  });
  return { pairs, text: [...words.slice(end), ...(text === '' ? [] : [text])].join(' ') };
}
