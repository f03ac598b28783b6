/** A verb and its regular inflections: extract, extracts, extracted, extracting. Of several words the first is inflected. */
export function verbForms(verb: string): readonly string[] {
  const [, before = '', stem = '', after = ''] = /^(\S*-)?([^\s-]+)(\s.*)?$/u.exec(verb.trim()) ?? [];
  if (!/[a-z]$/i.test(stem)) return [verb];
  return [...new Set([stem, ...inflected(stem.toLowerCase())])].map((form) => `${before}${form}${after}`);
}

const VOWEL = /[aeiou]/;

function inflected(stem: string): readonly string[] {
  const [ed, ing] = pastAndPresent(stem);
  return [...thirdPerson(stem), ...ed, ...ing];
}

function thirdPerson(stem: string): readonly string[] {
  if (/[^aeiou]y$/.test(stem)) return [`${stem.slice(0, -1)}ies`];
  if (/(?:s|x|z|ch|sh|o)$/.test(stem))
    return doubles(stem) && /[sz]$/.test(stem) ? [`${stem}es`, `${stem}${stem.at(-1)}es`] : [`${stem}es`];
  return [`${stem}s`];
}

function pastAndPresent(stem: string): readonly [past: readonly string[], present: readonly string[]] {
  if (stem.endsWith('ie')) return [[`${stem}d`], [`${stem.slice(0, -2)}ying`]];
  if (/[eoy]e$/.test(stem)) return [[`${stem}d`], [`${stem}ing`]];
  if (stem.endsWith('e')) return [[`${stem}d`], [`${stem.slice(0, -1)}ing`]];
  if (/[^aeiou]y$/.test(stem)) return [[`${stem.slice(0, -1)}ied`], [`${stem}ing`]];
  const doubled = `${stem}${stem.at(-1)}`;
  const bases = !doubles(stem) ? [stem] : syllables(stem) === 1 ? [doubled] : [stem, doubled];
  return [bases.map((base) => `${base}ed`), bases.map((base) => `${base}ing`)];
}

/** Consonant, vowel, consonant at the end. Where the stress lies cannot be seen: longer verbs get both forms. */
function doubles(stem: string): boolean {
  const [first = '', second = '', third = ''] = stem.replace('qu', 'qq').slice(-3);
  return third !== '' && !VOWEL.test(first) && VOWEL.test(second) && !/[aeiouwxy]/.test(third);
}

function syllables(stem: string): number {
  return stem.replace('qu', 'q').match(/[aeiouy]+/g)?.length ?? 1;
}
