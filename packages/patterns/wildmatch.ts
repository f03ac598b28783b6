/** Whether a text matches the pattern. */
export type Glob = (text: string) => boolean;

/**
 * A matcher for a pattern as git's wildmatch reads it, in time linear in pattern × text. In a path pattern (`isPath`) only `**` between
 * slashes matches a slash. A malformed pattern matches nothing.
 */
export function globOf(pattern: string, isPath: boolean): Glob {
  const plain = pattern.search(/[*?[\\]/u);
  if (plain < 0) return (text) => text === pattern;
  const ending = /^\*([^*?[\\]*)$/u.exec(pattern)?.[1];
  if (ending !== undefined && !isPath) return (text) => text.endsWith(ending); // most rules are of this form
  const start = pattern.slice(0, plain); // git compares the literal prefix first and treats the rest as a pattern of its own
  const steps = stepsOf(pattern.slice(plain), isPath);
  return steps === null ? () => false : (text) => text.startsWith(start) && isMatch(steps, text.slice(plain));
}

/** One byte of a set, any number of them, or an optional part: the following steps may be skipped, up to the step after a slash. */
type Step = { readonly kind: 'one' | 'many'; readonly has: Letters } | { readonly kind: 'optional' };
type Letters = (code: number) => boolean;

const SLASH = 0x2f;
const ANY: Letters = () => true;
const NO_SLASH: Letters = (code) => code !== SLASH;
/** `**` and the slash after it. */
const OPTIONAL_STEPS = 3;

/** null: the pattern is malformed. */
function stepsOf(pattern: string, isPath: boolean): readonly Step[] | null {
  const steps: Step[] = [];
  for (let at = 0; at < pattern.length;) {
    const char = pattern.charAt(at);
    if (char === '*') {
      const end = at + (/^\*+/u.exec(pattern.slice(at))?.[0].length ?? 1);
      const rest = pattern.slice(end);
      const isAlone = end - at > 1 && (at === 0 || pattern.charAt(at - 1) === '/') && /^(?:$|\/|\\\/)/u.test(rest);
      if (isAlone && isPath && rest.startsWith('/')) steps.push({ kind: 'optional' });
      steps.push({ kind: 'many', has: isPath && !isAlone ? NO_SLASH : ANY });
      at = end;
    } else if (char === '[') {
      const found = classAt(pattern, at);
      if (found === null) return null;
      steps.push({ kind: 'one', has: (code) => found.has(code) && !(isPath && code === SLASH) });
      at = found.end;
    } else if (char === '?') {
      steps.push({ kind: 'one', has: isPath ? NO_SLASH : ANY });
      at += 1;
    } else {
      const literal = literalAt(pattern, at);
      if (literal === null) return null; // a backslash at the end
      steps.push({ kind: 'one', has: (code) => code === literal.code });
      at = literal.end;
    }
  }
  return steps;
}

/** Tries each combination of step and position once, so time grows with steps × letters for every pattern. */
function isMatch(steps: readonly Step[], text: string): boolean {
  const tried = new Set<number>();
  const matchesFrom = (fromStep: number, fromLetter: number): boolean => {
    let [place, at] = [fromStep, fromLetter];
    for (;;) {
      const step = steps[place];
      if (step === undefined) return at === text.length;
      if (step.kind !== 'one') {
        const here = place * (text.length + 1) + at;
        if (tried.has(here)) return false;
        tried.add(here);
        if (matchesFrom(place + (step.kind === 'optional' ? OPTIONAL_STEPS : 1), at)) return true;
      }
      if (step.kind === 'optional') {
        place += 1;
        continue;
      }
      const code = text.codePointAt(at);
      if (code === undefined || !step.has(code)) return false;
      at += code > LAST_OF_ONE ? 2 : 1;
      if (step.kind === 'one') place += 1;
    }
  };
  return matchesFrom(0, 0);
}

/** Characters above this take two UTF-16 units. */
const LAST_OF_ONE = 0xffff;

/** A bracket class and where it ends; null: it does not end, or names an unknown class. */
function classAt(pattern: string, start: number): { readonly has: Letters; readonly end: number } | null {
  const tests: Letters[] = [];
  let at = start + 1;
  const negated = pattern[at] === '!' || pattern[at] === '^';
  if (negated) at += 1;
  /** A byte that may start a range. */
  let before: number | null = null;
  for (let isFirst = true; isFirst || pattern[at] !== ']'; isFirst = false) {
    const named = /^\[:([^\]]*)\]/u.exec(pattern.slice(at));
    if (named?.[1]?.endsWith(':')) {
      const ofClass = CLASSES.get(named[1].slice(0, -1));
      if (ofClass === undefined) return null;
      tests.push(ofClass);
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
  return { has: (code) => tests.some((test) => test(code)) !== negated, end: at + 1 };
}

/** null: the pattern has ended. */
function literalAt(pattern: string, at: number): { readonly code: number; readonly end: number } | null {
  const place = pattern[at] === '\\' ? at + 1 : at;
  const code = pattern.codePointAt(place);
  return code === undefined ? null : { code, end: place + String.fromCodePoint(code).length };
}

const named =
  (pattern: RegExp): Letters =>
  (code) =>
    pattern.test(String.fromCharCode(code));

/** The classes of the C locale. */
const CLASSES: ReadonlyMap<string, Letters> = new Map([
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
