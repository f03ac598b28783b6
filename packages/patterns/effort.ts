/** What a part of a pattern is to the estimate, in the syntax of RE2. */
const PART =
  /\\Q(?<quoted>[^]*?)(?:\\E|$)|\\x\{[^}]*\}|(?<property>\\[pP](?:\{[^}]*\}|[^]))|\\[^]|(?<set>\[\^?\]?(?:\[:\^?\w+:\]|\\[^]|[^\]\\])*\]?)|\{(?<least>\d+)(?<open>,(?<most>\d*))?\}|(?<sign>[*+?|])|(?<opens>\()|(?<closes>\))|[^]/gu;
/** Within a set. */
const PROPERTY = /\\p|\[:/gi;
const OPENING = /^\[\^?/;
const RANGE = /(\\x\{[^}]*\}|\\?[^])-(\\x\{[^}]*\}|\\?[^])/gu;

/** Compiling these costs as much as so many instructions. */
const OF_PROPERTY = 15;
const OF_SET = 4;
/** Characters of a range whose cases are looked up one by one, for one instruction. */
const OF_RANGE = 300;

interface Group {
  /** Instructions so far. */
  size: number;
  /** Of what a repetition that follows repeats. */
  last: number;
}

/** An upper estimate of a pattern's instructions and of what else compiling it costs, from its text alone: with what is repeated as often as it may be. */
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

/** `most` is null where it is the least, and empty where there is none. */
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
