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
  const character = source[at];
  switch (character) {
    case '\\':
      if (at + 1 >= source.length) return final ? null : 'open';
      return /[\\`*_{}[\]()#+\-.!~|>]/u.test(source[at + 1] ?? '') ? { text: source[at + 1] ?? '', look: null, length: 2 } : null;
    case '`':
      return codeAt(source, at, final);
    case '*':
    case '_':
    case '~':
      return emphasisAt(source, at, final, source[at - 1] ?? before);
    case '!':
      return source.startsWith('![', at) ? linkAt(source, at + 1, final, 1) : at + 1 >= source.length && !final ? 'open' : null;
    case '[':
      return linkAt(source, at, final, 0);
    default:
      return null;
  }
}

function codeAt(source: string, at: number, final: boolean): Mark | 'open' {
  const ticks = /^`+/u.exec(source.slice(at))?.[0] ?? '`';
  for (let from = at + ticks.length; ;) {
    const close = source.indexOf(ticks, from);
    if (close < 0) return final ? { text: ticks, look: null, length: ticks.length } : 'open';
    const run = /^`+/u.exec(source.slice(close))?.[0].length ?? 0;
    if (run === ticks.length) {
      const inside = source.slice(at + ticks.length, close);
      const text = /^ .*[^ ].* $/u.test(inside) ? inside.slice(1, -1) : inside;
      return { text, look: 'code', length: close + ticks.length - at };
    }
    from = close + run;
  }
}

function emphasisAt(source: string, at: number, final: boolean, before: string): Mark | 'open' | null {
  const character = source[at] ?? '';
  const run = source[at + 1] === character ? 2 : 1;
  const next = source[at + run];
  if (next === undefined) return final ? literal(character, run) : 'open';
  if (/\s/u.test(next) || (character === '_' && /[\p{L}\p{N}]/u.test(before)) || (character === '~' && run === 1))
    return literal(character, run);
  const mark = character.repeat(run);
  for (let close = source.indexOf(mark, at + run); close >= 0; close = source.indexOf(mark, close + 1)) {
    const after = source[close + run];
    const inWord = character === '_' && after !== undefined && /[\p{L}\p{N}]/u.test(after);
    const longer = run === 1 && (after === character || source[close - 1] === character);
    if (/\s/u.test(source[close - 1] ?? ' ') || inWord || longer) continue;
    if (after === undefined && !final && run === 2) return 'open'; // `***` may still come
    return {
      text: source.slice(at + run, close),
      look: run === 1 ? 'italic' : character === '~' ? 'strike' : 'bold',
      length: close + run - at,
    };
  }
  return final ? literal(character, run) : 'open';
}

function linkAt(source: string, at: number, final: boolean, lead: number): Mark | 'open' | null {
  const rest = source.slice(at);
  const link = /^\[((?:\\.|[^[\]\\])*)\]\(\s*<?([^\s)>]*)>?(?:\s+"[^"]*")?\s*\)/u.exec(rest);
  if (link) {
    const [whole, text = '', address = ''] = link;
    return {
      text: text === '' ? address : text,
      look: 'link',
      length: whole.length + lead,
      ...(address === text || text === '' ? {} : { after: ` (${address})` }),
    };
  }
  const mayBecome = /^\[(?:\\.|[^[\]\\])*(?:\](?:\([^)]*)?)?$/u.test(rest);
  return mayBecome && !final ? 'open' : null;
}

function literal(character: string, run: number): Mark {
  return { text: character.repeat(run), look: null, length: run };
}
