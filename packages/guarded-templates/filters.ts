import {
  atMost,
  type Budget,
  Callable,
  isList,
  isMap,
  joined,
  jsonOf,
  LIST_LIMIT,
  listOf,
  mapOf,
  memberOf,
  numberOf,
  plainOf,
  replaced,
  textOf,
  type Value,
} from './values.ts';

/** The value before `|`, then the arguments in the order of `parameters`. */
type Run = (args: readonly Value[], budget: Budget) => Value;

interface Filter {
  /** Names of what follows the value, as keywords have them. */
  readonly parameters: readonly string[];
  readonly run: Run;
}

/** The filters that there are. Not among them: what takes a regular expression or uses one that hostile text can stall, and `random`. */
const FILTERS: ReadonlyMap<string, Filter> = new Map<string, Filter>([
  ['abs', filter([], ([value], budget) => Math.abs(numberOf(value, budget)))],
  ['batch', filter(['linecount', 'fill_with'], batch)],
  ['capitalize', filter([], ([value], budget) => capitalized(shown(value, budget)))],
  ['center', filter(['width'], center)],
  ['d', filter(['default_value', 'boolean'], defaulted)],
  ['default', filter(['default_value', 'boolean'], defaulted)],
  ['dictsort', filter(['case_sensitive', 'by'], dictsort)],
  ['dump', filter(['spaces'], ([value, spaces], budget) => jsonOf(value, indentOf(spaces, budget), budget))],
  ['e', filter([], ([value], budget) => escaped(shown(value, budget), budget))],
  ['escape', filter([], ([value], budget) => escaped(shown(value, budget), budget))],
  ['first', filter([], ([value], budget) => itemsOf(value, budget)[0])],
  ['float', filter(['default'], ([value, fallback], budget) => numberOr(Number.parseFloat(shown(value, budget)), fallback))],
  ['groupby', filter(['attribute'], groupby)],
  ['indent', filter(['width', 'indentfirst'], indent)],
  ['int', filter(['default', 'base'], ([value, fallback, base], budget) => numberOr(Number.parseInt(shown(value, budget), base === undefined ? 10 : numberOf(base, budget)), fallback))], // prettier-ignore
  ['join', filter(['del', 'attribute'], ([value, separator, attribute], budget) => joined(attributes(value, attribute, budget), shown(separator, budget), budget))], // prettier-ignore
  ['last', filter([], ([value], budget) => itemsOf(value, budget).at(-1))],
  ['length', filter([], ([value]) => lengthOf(value))],
  ['list', filter([], ([value], budget) => (isMap(value) ? Object.entries(value).map(([key, each]) => mapOf([['key', key], ['value', each]])) : [...itemsOf(value, budget)]))], // prettier-ignore
  ['lower', filter([], ([value], budget) => shown(value, budget).toLowerCase())],
  ['reject', filter(['test', 'argument'], (args, budget) => selected(args, false, budget))],
  ['rejectattr', filter(['attribute'], ([list, attribute], budget) => itemsOf(list, budget).filter((item) => !memberOf(item, attribute, budget)))], // prettier-ignore
  ['replace', filter(['old', 'new', 'count'], replace)],
  ['reverse', filter([], ([value], budget) => (isList(value) ? [...itemsOf(value, budget)].reverse() : itemsOf(value, budget).toReversed().join('')))], // prettier-ignore
  ['round', filter(['precision', 'method'], round)],
  ['safe', filter([], ([value], budget) => shown(value, budget))],
  ['select', filter(['test', 'argument'], (args, budget) => selected(args, true, budget))],
  ['selectattr', filter(['attribute'], ([list, attribute], budget) => itemsOf(list, budget).filter((item) => Boolean(memberOf(item, attribute, budget))))], // prettier-ignore
  ['slice', filter(['slices', 'fill_with'], slice)],
  ['sort', filter(['reverse', 'case_sensitive', 'attribute'], sorted)],
  ['string', filter([], ([value], budget) => textOf(value, budget))],
  ['sum', filter(['attribute', 'start'], ([list, attribute, start = 0], budget) => attributes(list, attribute, budget).reduce<number>((total, item) => total + numberOf(item, budget), numberOf(start, budget)))], // prettier-ignore
  ['title', filter([], ([value], budget) => listOf(shown(value, budget).split(' ', LIST_LIMIT + 1), budget).map((word) => capitalized(word as string)).join(' '))], // prettier-ignore
  ['trim', filter([], ([value], budget) => shown(value, budget).trim())],
  ['truncate', filter(['length', 'killwords', 'end'], truncate)],
  ['upper', filter([], ([value], budget) => shown(value, budget).toUpperCase())],
  ['urlencode', filter([], urlencode)],
  ['wordcount', filter([], ([value], budget) => shown(value, budget).match(/\w+/g)?.length ?? 0)],
]);

/** What is after `is`. The second value is its argument. */
const TESTS: ReadonlyMap<string, (value: Value, argument: Value, budget: Budget) => boolean> = new Map([
  ['callable', (value: Value) => value instanceof Callable],
  ['defined', (value: Value) => value !== undefined],
  ['divisibleby', (value: Value, by: Value, budget: Budget) => numberOf(value, budget) % numberOf(by, budget) === 0],
  ['eq', same],
  ['equalto', same],
  ['even', (value: Value, _: Value, budget: Budget) => numberOf(value, budget) % 2 === 0],
  ['falsy', (value: Value) => !value],
  ['ge', (value: Value, other: Value, budget: Budget) => compared(value, '>=', other, budget)],
  ['greaterthan', (value: Value, other: Value, budget: Budget) => compared(value, '>', other, budget)],
  ['gt', (value: Value, other: Value, budget: Budget) => compared(value, '>', other, budget)],
  ['iterable', (value: Value) => typeof value === 'string' || isList(value)],
  ['le', (value: Value, other: Value, budget: Budget) => compared(value, '<=', other, budget)],
  ['lessthan', (value: Value, other: Value, budget: Budget) => compared(value, '<', other, budget)],
  ['lower', (value: Value, _: Value, budget: Budget) => shown(value, budget) === shown(value, budget).toLowerCase()],
  ['lt', (value: Value, other: Value, budget: Budget) => compared(value, '<', other, budget)],
  ['mapping', isMap],
  ['ne', (value: Value, other: Value) => value !== other],
  ['null', (value: Value) => value === null],
  ['number', (value: Value) => typeof value === 'number'],
  ['odd', (value: Value, _: Value, budget: Budget) => Math.abs(numberOf(value, budget)) % 2 === 1],
  ['sameas', same],
  ['string', (value: Value) => typeof value === 'string'],
  ['truthy', Boolean],
  ['undefined', (value: Value) => value === undefined],
  ['upper', (value: Value, _: Value, budget: Budget) => shown(value, budget) === shown(value, budget).toUpperCase()],
]);

export const FILTER_NAMES: readonly string[] = [...FILTERS.keys()];
export const TEST_NAMES: readonly string[] = [...TESTS.keys()];

/** `args`: the value before `|` and what is in brackets. Throws in words that end a sentence. */
export function applyFilter(name: string, args: readonly Value[], named: ReadonlyMap<string, Value>, budget: Budget): Value {
  const found = FILTERS.get(name);
  if (found === undefined) throw new TypeError(`there is no filter '${name}'`);
  const whole = [...args];
  for (const [keyword, value] of named) {
    const at = found.parameters.indexOf(keyword);
    if (at < 0) throw new TypeError(`the filter '${name}' has no argument '${keyword}'`);
    whole[at + 1] = value;
  }
  const result = found.run(whole, budget);
  if (typeof result === 'string') budget.forText(result.length);
  if (isList(result)) listOf(result, budget);
  return result;
}

export function applyTest(name: string, value: Value, argument: Value, budget: Budget): boolean {
  const test = TESTS.get(name);
  if (test === undefined) throw new TypeError(`there is no test '${name}'`);
  return test(value, argument, budget);
}

/** `range`, `cycler` and `joiner`. */
export function globalsOf(budget: Budget): ReadonlyMap<string, Value> {
  return new Map<string, Value>([
    ['range', new Callable((given) => range(given, budget))],
    ['cycler', new Callable((items) => cycler(items))],
    ['joiner', new Callable(([separator = ',']) => joiner(separator))],
  ]);
}

export const GLOBAL_NAMES = ['range', 'cycler', 'joiner'] as const;

export type Comparison = '<' | '>' | '<=' | '>=';

export function compared(left: Value, operator: Comparison, right: Value, budget: Budget): boolean {
  const [a, b] = [plainOf(left, budget) as string, plainOf(right, budget) as string];
  budget.spend((typeof a === 'string' ? a.length : 0) / 1000);
  switch (operator) {
    case '<':
      return a < b;
    case '>':
      return a > b;
    case '<=':
      return a <= b;
    case '>=':
      return a >= b;
  }
}

function filter(parameters: readonly string[], run: Run): Filter {
  return { parameters, run };
}

/** As text, and nothing for what is not there. Counted. */
function shown(value: Value, budget: Budget): string {
  const text = value === null || value === undefined || value === false ? '' : textOf(value, budget);
  budget.forText(text.length);
  return text;
}

/** The items of a list, or the characters of a text. */
function itemsOf(value: Value, budget: Budget): readonly Value[] {
  if (isList(value)) return listOf(value, budget);
  if (typeof value === 'string') return listOf(value.split('', LIST_LIMIT + 1), budget);
  throw new TypeError('it takes a list or a text');
}

/** The items themselves, or what each has under `attribute`. */
function attributes(list: Value, attribute: Value, budget: Budget): readonly Value[] {
  const items = itemsOf(list, budget);
  return attribute === undefined || attribute === null ? items : items.map((item) => memberOf(item, attribute, budget));
}

function lengthOf(value: Value): number {
  if (typeof value === 'string' || isList(value)) return value.length;
  return isMap(value) ? Object.keys(value).length : 0;
}

function same(value: Value, other: Value): boolean {
  return value === other;
}

function numberOr(value: number, fallback: Value): Value {
  return Number.isNaN(value) ? fallback : value;
}

function capitalized(text: string): string {
  const lower = text.toLowerCase();
  return lower.charAt(0).toUpperCase() + lower.slice(1);
}

function sizeOf(value: Value, what: string, budget: Budget): number {
  const size = atMost(numberOf(value, budget), LIST_LIMIT, `as the size of '${what}'`);
  if (Number.isInteger(size) && size > 0) return size;
  throw new TypeError(`the size of '${what}' must be a whole number above 0`);
}

function batch([list, size, fill]: readonly Value[], budget: Budget): Value {
  const [items, width] = [itemsOf(list, budget), sizeOf(size, 'batch', budget)];
  const rows = Array.from({ length: Math.ceil(items.length / width) }, (_, row) => items.slice(row * width, (row + 1) * width));
  const last = rows.at(-1);
  if (last === undefined || fill === undefined) return rows;
  budget.forList(width);
  return [...rows.slice(0, -1), [...last, ...Array.from({ length: width - last.length }, () => fill)]];
}

/** In as many parts as asked, the first ones longer. */
function slice([list, count, fill]: readonly Value[], budget: Budget): Value {
  const [items, parts] = [itemsOf(list, budget), sizeOf(count, 'slice', budget)];
  budget.forList(parts);
  const [short, longer] = [Math.floor(items.length / parts), items.length % parts];
  let end = 0;
  return Array.from({ length: parts }, (_, part) => {
    const start = end;
    end += part < longer ? short + 1 : short;
    const own = items.slice(start, end);
    return fill !== undefined && part >= longer ? [...own, fill] : own;
  });
}

function center([value, width = 80]: readonly Value[], budget: Budget): string {
  const text = shown(value, budget);
  const blanks = Math.max(0, sizeOf(width, 'center', budget) - text.length);
  const left = Math.floor(blanks / 2);
  return `${' '.repeat(left)}${text}${' '.repeat(blanks - left)}`;
}

function defaulted([value, fallback, whenFalse]: readonly Value[]): Value {
  return (whenFalse ? Boolean(value) : value !== undefined) ? value : fallback;
}

function dictsort([value, caseSensitive, by = 'key']: readonly Value[], budget: Budget): Value {
  if (!isMap(value)) throw new TypeError("'dictsort' takes a map");
  if (by !== 'key' && by !== 'value') throw new TypeError("'dictsort' sorts by 'key' or 'value'");
  const pairs = Object.entries(value).map(([key, each]): Value[] => [key, each]);
  return ordered(pairs, (pair) => (pair as Value[])[by === 'key' ? 0 : 1], Boolean(caseSensitive), budget);
}

function sorted([list, reverse, caseSensitive, attribute]: readonly Value[], budget: Budget): Value {
  const keyOf = (item: Value): Value => {
    if (attribute === undefined || attribute === null) return item;
    const key = memberOf(item, attribute, budget);
    if (key === undefined) throw new TypeError(`an item has no '${textOf(attribute, budget)}' to sort by`);
    return key;
  };
  const result = ordered(itemsOf(list, budget), keyOf, Boolean(caseSensitive), budget);
  return reverse ? result.reverse() : result;
}

/** A sorted copy; texts without regard to case unless asked. */
function ordered(items: readonly Value[], keyOf: (item: Value) => Value, caseSensitive: boolean, budget: Budget): Value[] {
  const keyed = items.map((item) => {
    const key = plainOf(keyOf(item), budget);
    return { item, key: typeof key === 'string' && !caseSensitive ? key.toLowerCase() : key };
  });
  keyed.sort((a, b) => {
    budget.spend(1);
    return compared(a.key, '<', b.key, budget) ? -1 : compared(a.key, '>', b.key, budget) ? 1 : 0;
  });
  return keyed.map(({ item }) => item);
}

function escaped(text: string, budget: Budget): string {
  const entities: readonly (readonly [string, string])[] = [
    ['&', '&amp;'],
    ['"', '&quot;'],
    ["'", '&#39;'],
    ['<', '&lt;'],
    ['>', '&gt;'],
    ['\\', '&#92;'],
  ];
  return entities.reduce((each, [character, entity]) => replaced(each, { part: character, by: entity }, budget), text);
}

function groupby([list, attribute]: readonly Value[], budget: Budget): Value {
  const groups = new Map<string, Value[]>();
  for (const item of itemsOf(list, budget)) {
    const found = memberOf(item, attribute, budget);
    if (found === undefined) throw new TypeError(`an item has no '${textOf(attribute, budget)}' to group by`);
    const key = textOf(found, budget);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return mapOf(groups);
}

function indent([value, width = 4, first]: readonly Value[], budget: Budget): string {
  const blanks = ' '.repeat(sizeOf(width, 'indent', budget));
  const text = shown(value, budget);
  const indented = replaced(text, { part: '\n', by: `\n${blanks}` }, budget);
  return first && text !== '' ? blanks + indented : indented;
}

function indentOf(spaces: Value, budget: Budget): string {
  if (typeof spaces === 'string') return spaces.slice(0, 10);
  return ' '.repeat(Math.min(10, Math.max(0, Math.floor(numberOf(spaces ?? 0, budget)) || 0)));
}

function replace([value, part, by, most]: readonly Value[], budget: Budget): Value {
  const count = most === undefined || most === null ? Infinity : numberOf(most, budget);
  return replaced(shown(value, budget), { part: textOf(part, budget), by: textOf(by, budget), most: count < 0 ? Infinity : count }, budget);
}

function round([value, precision = 0, method]: readonly Value[], budget: Budget): number {
  const factor = 10 ** numberOf(precision, budget);
  const rounded = method === 'ceil' ? Math.ceil : method === 'floor' ? Math.floor : Math.round;
  return rounded(numberOf(value, budget) * factor) / factor;
}

function selected([list, test = 'truthy', argument]: readonly Value[], wanted: boolean, budget: Budget): Value {
  const name = textOf(test, budget);
  return itemsOf(list, budget).filter((item) => applyTest(name, item, argument, budget) === wanted);
}

function truncate([value, length = 255, killwords, end = '...']: readonly Value[], budget: Budget): string {
  const [text, most] = [shown(value, budget), Math.max(0, numberOf(length, budget) || 0)];
  if (text.length <= most) return text;
  const word = killwords ? -1 : text.lastIndexOf(' ', most);
  return text.slice(0, word < 0 ? most : word) + shown(end, budget);
}

function urlencode([value]: readonly Value[], budget: Budget): string {
  if (!isMap(value)) return encodeURIComponent(shown(value, budget));
  return Object.entries(value)
    .map(([key, each]) => `${encodeURIComponent(key)}=${encodeURIComponent(shown(each, budget))}`)
    .join('&');
}

/** For at most `LIST_LIMIT` numbers. */
function range(given: readonly Value[], budget: Budget): readonly number[] {
  const numbers = given.map((each) => numberOf(each, budget));
  const [from, to] = given.length < 2 || given[1] === undefined ? [0, numbers[0] ?? Number.NaN] : [numbers[0]!, numbers[1]!];
  const step = numbers[2] || 1;
  const count = atMost(Math.max(0, Math.ceil((to - from) / step)), LIST_LIMIT, 'numbers in a range');
  if (Number.isNaN(count)) return [];
  budget.forList(count);
  return Array.from({ length: count }, (_, index) => from + index * step);
}

function cycler(items: readonly Value[]): Value {
  let next = 0;
  return mapOf([
    ['next', new Callable(() => (items.length === 0 ? null : items[next++ % items.length]))],
    ['reset', new Callable(() => void (next = 0))],
  ]);
}

function joiner(separator: Value): Value {
  let isFirst = true;
  return new Callable(() => {
    const printed = isFirst ? '' : separator;
    isFirst = false;
    return printed;
  });
}
