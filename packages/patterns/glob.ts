import { globOf } from './wildmatch.ts';

/** The most letters of all alternatives together. */
const MOST_LETTERS = 2000;

/** Matches paths; a glob without a slash matches the name alone. Throws where it has too many alternatives. */
export function globMatcher(glob: string): (path: string) => boolean {
  const forms = alternatives(glob.replace(/^(?:\.?\/)+/, '')).map((form) => {
    const isPath = form.includes('/');
    return { isPath, matches: globOf(form, isPath) };
  });
  return (path) => {
    const name = path.slice(path.lastIndexOf('/') + 1);
    return forms.some(({ isPath, matches }) => matches(isPath ? path : name));
  };
}

/** `a{b,c}` gives `ab` and `ac`; braces without a comma are literal. */
function alternatives(glob: string): readonly string[] {
  const done: string[] = [];
  let left = [glob];
  let letters = 0;
  while (left.length > 0) {
    const [form = '', ...others] = left;
    const braces = firstBraces(form);
    letters += form.length;
    if (letters > MOST_LETTERS) throw new Error('it has too many alternatives');
    if (braces === null) done.push(form);
    left =
      braces === null ? others : [...braces.parts.map((part) => form.slice(0, braces.start) + part + form.slice(braces.end)), ...others];
  }
  return done;
}

/** The first braces with alternatives, not those nested in them. */
function firstBraces(glob: string): { readonly start: number; readonly end: number; readonly parts: readonly string[] } | null {
  const open: { start: number; commas: number[] }[] = [];
  for (let at = 0; at < glob.length; at += 1) {
    if (glob[at] === '\\') at += 1;
    else if (glob[at] === '{') open.push({ start: at, commas: [] });
    else if (glob[at] === ',') open.at(-1)?.commas.push(at);
    else if (glob[at] === '}') {
      const { start, commas } = open.pop() ?? { start: 0, commas: [] };
      if (commas.length === 0) continue;
      const ends = [...commas, at];
      const parts = ends.map((end, index) => glob.slice(index === 0 ? start + 1 : (ends[index - 1] as number) + 1, end));
      return { start, end: at + 1, parts };
    }
  }
  return null;
}
