/** The parts of a pattern that the estimate knows, in RE2's syntax. */
const PART =
  /\\Q(?<quoted>[^]*?)(?:\\E|$)|\\x\{[^}]*\}|(?<property>\\[pP](?:\{[^}]*\}|[^]))|\\[^]|(?<set>\[\^?\]?(?:\[:\^?\w+:\]|\\[^]|[^\]\\])*\]?)|\{(?<least>\d+)(?<open>,(?<most>\d*))?\}|(?<sign>[*+?|])|(?<opens>\()|(?<closes>\))|[^]/gu;
/** A property within a set. */
const PROPERTY = /\\p|\[:/gi;
const OPENING = /^\[\^?/;
const RANGE = /(\\x\{[^}]*\}|\\?[^])-(\\x\{[^}]*\}|\\?[^])/gu;

/** The cost of compiling a property, in instructions. */
const OF_PROPERTY = 15;
const OF_SET = 4;
/** How many characters of a range, whose cases are looked up one by one, cost one instruction. */
const OF_RANGE = 300;

interface Group {
  /** The instructions so far. */
  size: number;
  /** The instructions of what a following repetition repeats. */
  last: number;
}

/** An upper estimate of a pattern's instructions and compile cost, from its text alone. A repetition counts as often as it may repeat. */
export function effortOf(pattern: string): number {
  let sets = 0;
  const groups: Group[] = [{ size: 0, last: 0 }];
  for (const { 0: part, groups: named = {} } of pattern.matchAll(PART)) {
    const group = groups.at(-1)!;
    const { quoted, property, set, least, sign, opens, closes } = named;
    if (opens !== undefined) groups.push({ size: 2, last: 0 });
    else if (closes !== undefined) {
      if (groups.length > 1) addTo(groups[groups.length - 2]!, groups.pop()!.size);
    } else if (sign !== undefined) group.size += 1;
    else if (least !== undefined) repeat(group, Number(least), named['open'] === undefined ? null : named['most']!);
    else addTo(group, quoted?.length ?? 1);
    if (property !== undefined) sets += OF_PROPERTY;
    else if (set !== undefined) sets += setEffort(set);
    else if (/^\\[dsw]/i.test(part)) sets += OF_SET;
  }
  return groups.reduce((sum, { size }) => sum + size, sets);
}

function addTo(group: Group, size: number): void {
  group.size += size;
  group.last = size;
}

/** `most` is null where it equals `least`, and empty where there is no maximum. */
function repeat(group: Group, least: number, most: string | null): void {
  const times = most === null ? least : most === '' ? least + 1 : Math.max(least, Number(most));
  const optional = most === null ? 0 : times - least;
  const size = group.last * times + optional;
  group.size += Math.max(0, size - group.last) + 1;
  group.last = Math.max(size, group.last);
}

function setEffort(set: string): number {
  let effort = OF_SET + (set.match(PROPERTY)?.length ?? 0) * OF_PROPERTY;
  for (const [, from, to] of set.replace(OPENING, '').matchAll(RANGE))
    effort += 1 + Math.max(0, Math.ceil((codeOf(to!) - codeOf(from!)) / OF_RANGE));
  return effort;
}

function codeOf(character: string): number {
  return character.startsWith('\\x{') ? Number.parseInt(character.slice(3), 16) : character.codePointAt(0)!;
}
