export type Look = 'bold' | 'italic' | 'code' | 'strike' | 'dim' | 'link';

/** Text that looks the same throughout. */
export interface Span {
  readonly text: string;
  readonly looks: readonly Look[];
}

/** Spans of the part of `source` whose look is certain, and how much of it that is. With `final` all of it is. `before` is the character before. */
export function inlineSpans(
  source: string,
  final: boolean,
  before = ' ',
  looks: readonly Look[] = [],
): { readonly spans: readonly Span[]; readonly used: number } {
  const spans: Span[] = [];
  let plain = '';
  let at = 0;
  const flush = () => {
    if (plain !== '') spans.push({ text: plain, looks });
    plain = '';
  };
  while (at < source.length) {
    const found = markAt(source, at, final, before);
    if (found === 'open') break;
    if (found === null) {
      plain += source[at];
      at += 1;
      continue;
    }
    if (found.look === null) plain += found.text;
    else {
      flush();
      if (found.look === 'code') spans.push({ text: found.text, looks: [...looks, 'code'] });
      else spans.push(...inlineSpans(found.text, true, ' ', [...looks, found.look]).spans);
      if (found.after !== undefined) spans.push({ text: found.after, looks: [...looks, 'dim'] });
    }
    at += found.length;
  }
  flush();
  return { spans, used: at };
}

/** A mark that is complete at `at`; null: an ordinary character; `open`: what follows will tell. */
type Mark = { readonly text: string; readonly look: Look | null; readonly length: number; readonly after?: string };

function markAt(source: string, at: number, final: boolean, before: string): Mark | 'open' | null {
  if (!MARKS.has(source[at] ?? '')) return null;
  const isNear = source.length <= at + LONGEST_MARKED;
  return markFrom(isNear ? source.slice(at) : source.slice(at, at + LONGEST_MARKED), final || !isNear, source[at - 1] ?? before);
}

const MARKS: ReadonlySet<string> = new Set('\\`*_~![');
/** What is not closed within so many characters is no mark: each of a long line would look through all of it. */
const LONGEST_MARKED = 1000;

/** At the beginning of `source`. */
function markFrom(source: string, final: boolean, before: string): Mark | 'open' | null {
  switch (source[0]) {
    case '\\':
      if (source.length < 2) return final ? null : 'open';
      return /[\\`*_{}[\]()#+\-.!~|>]/u.test(source[1] ?? '') ? { text: source[1] ?? '', look: null, length: 2 } : null;
    case '`':
      return codeFrom(source, final);
    case '*':
    case '_':
    case '~':
      return emphasisFrom(source, final, before);
    case '!':
      return source[1] === '[' ? linkFrom(source.slice(1), final, 1) : source.length < 2 && !final ? 'open' : null;
    case '[':
      return linkFrom(source, final, 0);
    default:
      return null;
  }
}

function codeFrom(source: string, final: boolean): Mark | 'open' {
  const ticks = /^`+/u.exec(source)?.[0] ?? '`';
  for (let from = ticks.length; ;) {
    const close = source.indexOf(ticks, from);
    if (close < 0) return final ? { text: ticks, look: null, length: ticks.length } : 'open';
    const run = /^`+/u.exec(source.slice(close))?.[0].length ?? 0;
    if (run === ticks.length) {
      const inside = source.slice(ticks.length, close);
      const text = /^ .*[^ ].* $/u.test(inside) ? inside.slice(1, -1) : inside;
      return { text, look: 'code', length: close + ticks.length };
    }
    from = close + run;
  }
}

function emphasisFrom(source: string, final: boolean, before: string): Mark | 'open' | null {
  const character = source[0] ?? '';
  const run = source[1] === character ? 2 : 1;
  const next = source[run];
  if (next === undefined) return final ? literal(character, run) : 'open';
  if (/\s/u.test(next) || (character === '_' && /[\p{L}\p{N}]/u.test(before)) || (character === '~' && run === 1))
    return literal(character, run);
  const mark = character.repeat(run);
  for (let close = source.indexOf(mark, run); close >= 0; close = source.indexOf(mark, close + 1)) {
    const after = source[close + run];
    const inWord = character === '_' && after !== undefined && /[\p{L}\p{N}]/u.test(after);
    const longer = run === 1 && (after === character || source[close - 1] === character);
    if (/\s/u.test(source[close - 1] ?? ' ') || inWord || longer) continue;
    if (after === undefined && !final && run === 2) return 'open'; // `***` may still come
    return {
      text: source.slice(run, close),
      look: run === 1 ? 'italic' : character === '~' ? 'strike' : 'bold',
      length: close + run,
    };
  }
  return final ? literal(character, run) : 'open';
}

function linkFrom(source: string, final: boolean, lead: number): Mark | 'open' | null {
  const link = /^\[((?:\\.|[^[\]\\])*)\]\(\s*<?([^\s)>]*)>?(?:\s+"[^"]*")?\s*\)/u.exec(source);
  if (link) {
    const [whole, text = '', address = ''] = link;
    return {
      text: text === '' ? address : text,
      look: 'link',
      length: whole.length + lead,
      ...(address === text || text === '' ? {} : { after: ` (${address})` }),
    };
  }
  const mayBecome = /^\[(?:\\.|[^[\]\\])*(?:\](?:\([^)]*)?)?$/u.test(source);
  return mayBecome && !final ? 'open' : null;
}

function literal(character: string, run: number): Mark {
  return { text: character.repeat(run), look: null, length: run };
}
