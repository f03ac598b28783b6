/** Whether a text, of a character for each byte, is what a pattern means. */
export type Glob = (text: string) => boolean;

/**
 * A pattern as git's wildmatch reads it, in time that grows with pattern times text. In a pattern of a path (`isPath`) only `**` between
 * slashes stands for a slash. What is malformed matches nothing.
 */
export function globOf(pattern: string, isPath: boolean): Glob {
  const plain = pattern.search(/[*?[\\]/u);
  if (plain < 0) return (text) => text === pattern;
  const ending = /^\*([^*?[\\]*)$/u.exec(pattern)?.[1];
  if (ending !== undefined && !isPath) return (text) => text.endsWith(ending); // most rules
  const start = pattern.slice(0, plain); // git compares it first, so that what follows is a pattern by itself
  const steps = stepsOf(pattern.slice(plain), isPath);
  return steps === null ? () => false : (text) => text.startsWith(start) && isMatch(steps, text.slice(plain));
}

/** One byte of a set, any number of them, or nothing: then what follows may be left out, up to the step after a slash. */
type Step = { readonly kind: 'one' | 'many'; readonly bytes: Bytes } | { readonly kind: 'optional' };
type Bytes = (code: number) => boolean;

const SLASH = 0x2f;
const ANY: Bytes = () => true;
const NO_SLASH: Bytes = (code) => code !== SLASH;
/** `**` and the slash after it. */
const OPTIONAL_STEPS = 3;

/** null: malformed. */
function stepsOf(pattern: string, isPath: boolean): readonly Step[] | null {
  const steps: Step[] = [];
  for (let at = 0; at < pattern.length;) {
    const char = pattern.charAt(at);
    if (char === '*') {
      const end = at + (/^\*+/u.exec(pattern.slice(at))?.[0].length ?? 1);
      const rest = pattern.slice(end);
      const isAlone = end - at > 1 && (at === 0 || pattern.charAt(at - 1) === '/') && /^(?:$|\/|\\\/)/u.test(rest);
      if (isAlone && isPath && rest.startsWith('/')) steps.push({ kind: 'optional' });
      steps.push({ kind: 'many', bytes: isPath && !isAlone ? NO_SLASH : ANY });
      at = end;
    } else if (char === '[') {
      const found = classAt(pattern, at);
      if (found === null) return null;
      steps.push({ kind: 'one', bytes: (code) => found.bytes(code) && !(isPath && code === SLASH) });
      at = found.end;
    } else if (char === '?') {
      steps.push({ kind: 'one', bytes: isPath ? NO_SLASH : ANY });
      at += 1;
    } else {
      const literal = char === '\\' ? pattern.charCodeAt((at += 1)) : pattern.charCodeAt(at);
      if (Number.isNaN(literal)) return null; // a backslash at the end
      steps.push({ kind: 'one', bytes: (code) => code === literal });
      at += 1;
    }
  }
  return steps;
}

/** All ways at once: which steps may be next, after each byte. */
function isMatch(steps: readonly Step[], text: string): boolean {
  const last = steps.at(-1);
  if (last?.kind === 'one' && !last.bytes(text.charCodeAt(text.length - 1))) return false; // most texts
  let next = reached(steps, [0]);
  for (let at = 0; at < text.length && next.size > 0; at += 1) {
    const code = text.charCodeAt(at);
    const after: number[] = [];
    for (const place of next) {
      const step = steps[place];
      if (step === undefined || step.kind === 'optional' || !step.bytes(code)) continue;
      after.push(step.kind === 'many' ? place : place + 1);
    }
    next = reached(steps, after);
  }
  return next.has(steps.length);
}

function reached(steps: readonly Step[], places: readonly number[]): ReadonlySet<number> {
  const all = new Set(places);
  for (const place of all) {
    const kind = steps[place]?.kind;
    if (kind === 'many' || kind === 'optional') all.add(place + 1);
    if (kind === 'optional') all.add(place + OPTIONAL_STEPS);
  }
  return all;
}

/** A class in brackets and where it ends; null: it does not end, or names a class that there is not. */
function classAt(pattern: string, start: number): { readonly bytes: Bytes; readonly end: number } | null {
  const tests: Bytes[] = [];
  let at = start + 1;
  const negated = pattern[at] === '!' || pattern[at] === '^';
  if (negated) at += 1;
  /** A byte that may begin a range. */
  let before: number | null = null;
  for (let isFirst = true; isFirst || pattern[at] !== ']'; isFirst = false) {
    const named = /^\[:([^\]]*)\]/u.exec(pattern.slice(at));
    if (named?.[1]?.endsWith(':')) {
      const bytes = CLASSES.get(named[1].slice(0, -1));
      if (bytes === undefined) return null;
      tests.push(bytes);
      before = null;
      at += named[0].length;
    } else if (pattern.startsWith('[:', at) && named === null) {
      return null;
    } else if (pattern[at] === '-' && before !== null && at + 1 < pattern.length && pattern[at + 1] !== ']') {
      const [from, to] = [before, literalAt(pattern, at + 1)];
      if (to === null) return null;
      tests.push((code) => code >= from && code <= to.code);
      before = null;
      at = to.end;
    } else {
      const literal = literalAt(pattern, at);
      if (literal === null) return null;
      tests.push((code) => code === literal.code);
      before = literal.code;
      at = literal.end;
    }
  }
  return { bytes: (code) => tests.some((test) => test(code)) !== negated, end: at + 1 };
}

/** null: the pattern is over. */
function literalAt(pattern: string, at: number): { readonly code: number; readonly end: number } | null {
  const place = pattern[at] === '\\' ? at + 1 : at;
  return place < pattern.length ? { code: pattern.charCodeAt(place), end: place + 1 } : null;
}

const named =
  (pattern: RegExp): Bytes =>
  (code) =>
    pattern.test(String.fromCharCode(code));

/** As the C locale has them. */
const CLASSES: ReadonlyMap<string, Bytes> = new Map([
  ['alnum', named(/[a-z0-9]/iu)],
  ['alpha', named(/[a-z]/iu)],
  ['blank', named(/[ \t]/u)],
  ['cntrl', (code) => code < 0x20 || code === 0x7f],
  ['digit', named(/[0-9]/u)],
  ['graph', named(/[!-~]/u)],
  ['lower', named(/[a-z]/u)],
  ['print', named(/[ -~]/u)],
  ['punct', named(/[!-/:-@[-`{-~]/u)],
  ['space', named(/[ \t\n\v\f\r]/u)],
  ['upper', named(/[A-Z]/u)],
  ['xdigit', named(/[0-9a-f]/iu)],
]);
