import { type Budget, isLess, isList, isMap, isTrue, itemsOf, joined, jsonOf, numberOf, spoken, textOf, type Value } from './values.ts';

/** A filter, method or function that a template may call. */
export interface Callee {
  /** Names of the parameters, as Jinja2 has them for keyword arguments. */
  readonly parameters: readonly string[];
  /** `value` is what precedes `|` or the dot. The message of an error ends a sentence. */
  readonly run: (value: Value, args: readonly Value[], budget: Budget) => Value;
}

const upper = ofText((text) => text.toUpperCase());
const lower = ofText((text) => text.toLowerCase());
const title = ofText((text) => text.replace(/[^-\s({[<]+/g, capitalized));
const trim = ofText((text) => text.trim());
const replace = ofText(replaced, 'old', 'new', 'count');
const dump: Callee = {
  parameters: ['indent'],
  run: (value, [indent = 0], budget) => jsonOf(value, Math.max(0, Math.min(10, numberOf(indent))), budget),
};

/** The filters that prompts use. None takes a regular expression. */
export const FILTERS: ReadonlyMap<string, Callee> = new Map<string, Callee>([
  ['capitalize', ofText(capitalized)],
  [
    'default',
    {
      parameters: ['default_value', 'boolean'],
      run: (value, [fallback = '', whenFalse]) => ((isTrue(whenFalse) ? isTrue(value) : value !== undefined) ? value : fallback),
    },
  ],
  ['dump', dump],
  ['first', { parameters: [], run: (value, _, budget) => itemsOf(value, budget)[0] }],
  ['indent', ofText(indented, 'width', 'first')],
  ['int', { parameters: ['default'], run: wholeNumber }],
  [
    'join',
    { parameters: ['d'], run: (value, [separator = ''], budget) => joined(itemsOf(value, budget), textOf(separator, budget), budget) },
  ],
  ['last', { parameters: [], run: (value, _, budget) => itemsOf(value, budget).at(-1) }],
  ['length', { parameters: [], run: (value, _, budget) => (typeof value === 'string' ? value.length : itemsOf(value, budget).length) }],
  ['list', { parameters: [], run: (value, _, budget) => itemsOf(value, budget) }],
  ['lower', lower],
  ['replace', replace],
  ['round', { parameters: ['precision', 'method'], run: rounded }],
  ['sort', { parameters: ['reverse', 'case_sensitive'], run: sorted }],
  ['title', title],
  ['tojson', dump],
  ['trim', trim],
  ['unique', { parameters: ['case_sensitive'], run: unique }],
  ['upper', upper],
]);

/** Methods called with a dot: Python's methods of texts and maps that Jinja2 has, and `slice` for `[from:to]`. */
export const METHODS: ReadonlyMap<string, Callee> = new Map<string, Callee>([
  ['endswith', ofText((text, [part], budget) => text.endsWith(textOf(part, budget)), 'suffix')],
  ['items', ofMap((map) => Object.entries(map))],
  ['keys', ofMap((map) => Object.keys(map))],
  ['lower', lower],
  ['replace', replace],
  ['slice', { parameters: ['from', 'to'], run: slice }],
  ['split', ofText(split, 'sep')],
  ['startswith', ofText((text, [part], budget) => text.startsWith(textOf(part, budget)), 'prefix')],
  ['strip', trim],
  ['title', title],
  ['upper', upper],
  ['values', ofMap((map) => Object.values(map))],
]);

/** Functions that are called without a value. */
export const FUNCTIONS: ReadonlyMap<string, Callee> = new Map<string, Callee>([
  ['range', { parameters: ['from', 'to', 'step'], run: (_, numbers, budget) => range(numbers.map(numberOf), budget) }],
]);

/** The tests after `is`. */
export const TESTS: ReadonlyMap<string, (value: Value) => boolean> = new Map<string, (value: Value) => boolean>([
  ['defined', (value) => value !== undefined],
  ['even', (value) => numberOf(value) % 2 === 0],
  ['mapping', isMap],
  ['none', (value) => value === null],
  ['number', (value) => typeof value === 'number'],
  ['odd', (value) => numberOf(value) % 2 !== 0],
  ['string', (value) => typeof value === 'string'],
  ['undefined', (value) => value === undefined],
]);

/** What to write instead of names that other template systems have. */
export const REPLACEMENTS: ReadonlyMap<string, string> = new Map([
  ...['map', 'select', 'reject', 'selectattr', 'rejectattr', 'groupby', 'batch', 'sum'].map(
    (name) => [name, 'write a loop, with {% for x in list if … %}'] as const,
  ),
  ...['safe', 'escape', 'e', 'forceescape'].map((name) => [name, 'leave it out: nothing is escaped here'] as const),
  ...['truncate', 'wordwrap'].map((name) => [name, 'write text.slice(0, 80)'] as const),
  ['format', 'put texts together with ~'],
  ['d', "write 'default'"],
  ['count', "write 'length'"],
  ['string', "write value ~ ''"],
  ['joiner', 'write {% if not loop.last %}, {% endif %}'],
  ['cycler', 'write {% if loop.index is odd %}'],
  ['cycle', 'write {% if loop.index is odd %}'],
  ['namespace', 'use a plain name: what is set in a loop is kept'],
  ['divisibleby', 'write x % 3 == 0'],
  ['equalto', 'write =='],
  ['eq', 'write =='],
]);

/** A filter on the value as text, whose result is never longer than the budget has counted. */
function ofText(run: (text: string, args: readonly Value[], budget: Budget) => Value, ...parameters: readonly string[]): Callee {
  return {
    parameters,
    run(value, args, budget) {
      const text = textOf(value, budget);
      budget.forText(text.length);
      const result = run(text, args, budget);
      if (typeof result === 'string') budget.forText(result.length);
      return result;
    },
  };
}

function ofMap(run: (map: Readonly<Record<string, Value>>) => readonly Value[]): Callee {
  return {
    parameters: [],
    run(value, _, budget) {
      if (!isMap(value)) throw new TypeError(`${spoken(value)} is not a map`);
      const list = run(value);
      budget.forList(list.length);
      return list;
    },
  };
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1).toLowerCase();
}

/** Replaces literal text: no character of `old` or `by` is special. */
function replaced(text: string, [old, by, most = Infinity]: readonly Value[], budget: Budget): string {
  const [part, put] = [textOf(old, budget), textOf(by, budget)];
  if (part === '') throw new TypeError('the text to replace is empty');
  budget.forSearch(text, part);
  const pieces = text.split(part);
  const count = Math.min(pieces.length - 1, most === Infinity ? Infinity : Math.max(0, numberOf(most)));
  budget.forText(text.length + count * (put.length - part.length));
  return [...pieces.slice(0, count), pieces.slice(count).join(part)].join(put);
}

/** Indents every line but the first and the empty ones. */
function indented(text: string, [width = 4, first]: readonly Value[], budget: Budget): string {
  const count = Math.max(0, numberOf(width));
  budget.forText(text.length + count * text.split('\n').length);
  const blanks = ' '.repeat(count);
  return (isTrue(first) ? blanks : '') + text.replace(/\n(?!\n|$)/g, `\n${blanks}`);
}

function wholeNumber(value: Value, [fallback = 0]: readonly Value[]): Value {
  try {
    return Math.trunc(numberOf(value));
  } catch {
    return fallback; // the value is not a number, so the filter's fallback counts
  }
}

function rounded(value: Value, [precision = 0, method = 'common']: readonly Value[]): number {
  const round = new Map<Value, (value: number) => number>([
    ['common', Math.round],
    ['ceil', Math.ceil],
    ['floor', Math.floor],
  ]).get(method);
  if (round === undefined) throw new TypeError("it rounds by 'common', 'ceil' or 'floor'");
  const factor = 10 ** numberOf(precision);
  return numberOf(round(numberOf(value) * factor) / factor);
}

/** The key to sort by: texts without regard to case, unless asked for. */
function keyOf(value: Value, caseSensitive: Value, budget: Budget): Value {
  if (typeof value !== 'string' || isTrue(caseSensitive)) return value;
  budget.forText(value.length);
  return value.toLowerCase();
}

function sorted(value: Value, [reverse, caseSensitive]: readonly Value[], budget: Budget): readonly Value[] {
  const keyed = itemsOf(value, budget).map((item) => ({ item, key: keyOf(item, caseSensitive, budget) }));
  const order = isTrue(reverse) ? -1 : 1;
  keyed.sort((a, b) => {
    budget.spend(1);
    return isLess(a.key, b.key, budget) ? -order : isLess(b.key, a.key, budget) ? order : 0;
  });
  return keyed.map(({ item }) => item);
}

function unique(value: Value, [caseSensitive]: readonly Value[], budget: Budget): readonly Value[] {
  const found = new Map<string, Value>();
  for (const item of itemsOf(value, budget)) {
    const key = textOf(keyOf(item, caseSensitive, budget), budget);
    if (!found.has(key)) found.set(key, item);
  }
  return [...found.values()];
}

function slice(value: Value, [from, to]: readonly Value[], budget: Budget): Value {
  const [start, end] = [from, to].map((each) => (each === undefined || each === null ? undefined : numberOf(each)));
  if (typeof value === 'string') {
    budget.forText(value.length);
    return value.slice(start, end);
  }
  if (!isList(value)) throw new TypeError(`${spoken(value)} is not a list or text`);
  budget.forList(value.length);
  return value.slice(start, end);
}

/** Splits at white space where no separator is given. */
function split(text: string, [separator]: readonly Value[], budget: Budget): readonly Value[] {
  const by = separator === undefined ? undefined : textOf(separator, budget);
  if (by === '') throw new TypeError('the separator is empty; write text | list for its characters');
  budget.forSearch(text, by ?? ' ');
  const parts = by === undefined ? (text.match(/\S+/g) ?? []) : text.split(by);
  budget.forList(parts.length);
  return parts;
}

function range([first = 0, second, step = 1]: readonly number[], budget: Budget): readonly number[] {
  const [from, to] = second === undefined ? [0, first] : [first, second];
  if (step === 0) throw new TypeError('the step of a range is 0');
  const length = Math.max(0, Math.ceil((to - from) / step));
  budget.forList(length);
  return Array.from({ length }, (_, index) => from + index * step);
}
