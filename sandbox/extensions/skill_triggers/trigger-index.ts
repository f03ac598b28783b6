import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { inPieces } from '@pith/skill-files';
import type { SkillRecord, SkillRecords } from 'pith/skill_registry';
import { fold, kindAt, PhraseIndex, SPACE, SYMBOL } from './phrase-index.ts';
import type { PatternCache } from './pattern-cache.ts';

/** How a message matches one skill. */
export interface TriggerMatch {
  /** The meant skill: a shadowed one, where the message says `source/id`. */
  readonly skill: SkillRecord;
  /** The message names it. */
  readonly mentioned: boolean;
  /** A keyword of several words is in the message. */
  readonly phrase: boolean;
  readonly pattern: boolean;
  /** Each matching trigger once, as the skill writes it: `keyword pdf`. */
  readonly hits: readonly string[];
}

/** The triggers and names of all skills, built once for all agents. */
export class TriggerIndex {
  readonly #phrases = new PhraseIndex<Entry>();

  private constructor(
    private readonly named: ReadonlyMap<string, readonly SkillRecord[]>,
    private readonly patterned: readonly SkillRecord[],
    private readonly patterns: PatternCache,
  ) {}

  static async of({ skills, all }: Pick<SkillRecords, 'skills' | 'all'>, patterns: PatternCache): Promise<TriggerIndex> {
    const usable = all.filter(({ state }) => state === 'offered' || state === 'shadowed');
    const named = new Map<string, SkillRecord[]>();
    for (const skill of usable) named.set(skill.id, [...(named.get(skill.id) ?? []), skill]);
    const offered = skills.filter(({ state }) => state === 'offered');
    const index = new TriggerIndex(
      named,
      offered.filter(({ triggers }) => triggers !== null && triggers.patterns.length > 0),
      patterns,
    );
    await inPieces(index.#fill(offered));
    return index;
  }

  /** The matches among the skills that `accept` takes, in no order. */
  async match(message: string, accept: (id: string) => boolean): Promise<readonly TriggerMatch[]> {
    const found = new Map<string, Found>();
    const text = fold(middleLeftOut(message, WORDS_LIMIT));
    this.#phrases.eachIn(text, (entry, from, to) => {
      if (!accept(entry.id)) return;
      const skill = entry.kind === 'name' ? this.#meant(entry.id, text, from, to) : this.named.get(entry.id)?.[0];
      if (skill !== undefined) note(found, entry, skill);
    });
    await this.#matchPatterns(message, accept, found);
    return [...found.values()].map(({ hits, ...match }) => ({ ...match, hits: [...hits] }));
  }

  *#fill(offered: readonly SkillRecord[]): Generator<void> {
    const names = uniqueNames(offered);
    let done = 0;
    for (const skill of offered) {
      if (done++ % AT_ONCE === AT_ONCE - 1) yield;
      const { id, name } = skill;
      for (const { phrase, entry } of phrasesOf(skill)) this.#phrases.add(phrase, entry);
      if (names.get(name) === id) this.#phrases.add(name, { id, kind: 'name', hit: `name ${id}` });
    }
  }

  /** The skill that a name in the text means: none where it is only part of a longer name or path. */
  #meant(id: string, text: string, from: number, to: number): SkillRecord | undefined {
    if (continues(text, to, 1)) return undefined;
    const skills = this.named.get(id) ?? [];
    const before = text.slice(0, from);
    const bySource = skills.find(({ source }) => {
      const prefix = `${fold(source)}/`;
      return before.endsWith(prefix) && !continues(text, from - prefix.length - 1, -1);
    });
    return bySource ?? (continues(text, from - 1, -1) ? undefined : skills.find(({ state }) => state === 'offered'));
  }

  async #matchPatterns(message: string, accept: (id: string) => boolean, found: Map<string, Found>): Promise<void> {
    const skills = this.patterned.filter(({ id }) => accept(id));
    if (skills.length === 0) return;
    await this.patterns.prepare(skills.flatMap(({ triggers }) => triggers!.patterns));
    const whole = middleLeftOut(message, PATTERNS_LIMIT).normalize('NFKC');
    let spent = 0;
    for (const skill of skills) {
      for (const written of skill.triggers!.patterns) {
        const pattern = this.patterns.get(written);
        if (pattern === null) continue;
        const size = pattern.programSize();
        const text = middleLeftOut(whole, Math.min(PATTERNS_LIMIT, Math.floor(STEPS_AT_ONCE / size)));
        const steps = size * (text.length + 50);
        if ((spent += steps) > STEPS_AT_ONCE) {
          spent = steps;
          await yieldToOthers();
        }
        if (pattern.test(text)) note(found, { id: skill.id, kind: 'pattern', hit: `pattern ${written}` }, skill);
      }
    }
  }
}

/** Display names that exactly one skill has, and no skill as its id. */
function uniqueNames(offered: readonly SkillRecord[]): ReadonlyMap<string, string | null> {
  const names = new Map<string, string | null>();
  for (const { id, name } of offered) names.set(name, names.has(name) ? null : id);
  for (const { id } of offered) names.delete(id);
  return names;
}

interface Entry {
  readonly id: string;
  readonly kind: 'name' | 'phrase' | 'word' | 'pattern';
  readonly hit: string;
}

/** The id, and all keywords and verb forms. */
function* phrasesOf({ id, triggers }: SkillRecord): Iterable<{ readonly phrase: string; readonly entry: Entry }> {
  yield { phrase: id, entry: { id, kind: 'name', hit: `name ${id}` } };
  for (const keyword of triggers?.keywords ?? [])
    yield { phrase: keyword, entry: { id, kind: fold(keyword).includes(' ') ? 'phrase' : 'word', hit: `keyword ${keyword}` } };
  for (const verb of triggers?.verbs ?? [])
    for (const phrase of verbForms(verb)) yield { phrase, entry: { id, kind: 'word', hit: `verb ${verb}` } };
}

interface Found {
  skill: SkillRecord;
  mentioned: boolean;
  phrase: boolean;
  pattern: boolean;
  readonly hits: Set<string>;
}

const AT_ONCE = 1000;
/** A longer message is searched at its start and its end only, for words and for patterns. */
const WORDS_LIMIT = 100_000;
const PATTERNS_LIMIT = 8000;
/**
 * The steps of patterns between two yields, a step being one instruction at one character; a pattern of more than 60 instructions reads
 * less of a long message.
 */
const STEPS_AT_ONCE = 500_000;

function note(all: Map<string, Found>, { id, kind, hit }: Entry, skill: SkillRecord): void {
  let found = all.get(id);
  if (found === undefined) all.set(id, (found = { skill, mentioned: false, phrase: false, pattern: false, hits: new Set() }));
  if (skill.state === 'shadowed') found.skill = skill;
  found.mentioned ||= kind === 'name';
  found.phrase ||= kind === 'phrase';
  found.pattern ||= kind === 'pattern';
  found.hits.add(hit);
}

/** Whether a name continues at `at` in this direction: `pdf` in `pdf-forms`, `docs/pdf`, `pdf.py`, `me@pdf`. */
function continues(text: string, at: number, step: 1 | -1): boolean {
  if (!JOINING.has(text[at] ?? '')) return false; // the index has excluded letters
  const beyond = kindAt(text, at + step);
  return beyond !== SPACE && beyond !== SYMBOL;
}

const JOINING = new Set(['-', '/', '.', '@', '\\']);

/** A text of about `limit` characters: of a longer one the start and the end, where people say what they want. */
function middleLeftOut(text: string, limit: number): string {
  return text.length <= limit ? text : `${text.slice(0, limit / 2)} … ${text.slice(-limit / 2)}`;
}

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

/** Consonant, vowel, consonant at the end. The stress cannot be seen, so longer verbs get both forms. */
function doubles(stem: string): boolean {
  const [first = '', second = '', third = ''] = stem.replace('qu', 'qq').slice(-3);
  return third !== '' && !VOWEL.test(first) && VOWEL.test(second) && !/[aeiouwxy]/.test(third);
}

function syllables(stem: string): number {
  return stem.replace('qu', 'q').match(/[aeiouy]+/g)?.length ?? 1;
}
