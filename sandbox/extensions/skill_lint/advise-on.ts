import path from 'node:path';
import type { Diagnostic } from 'pith';
import { didYouMean, enumerated, nearest } from '@pith/plain-text';
import { clean, isComparable, likenessOf, type LintResult, lintSkill, PLACEHOLDERS, termsOf, wordsOf } from '@pith/skill-files';
import { Bm25fRanker, type TextDocument } from '@pith/word-ranker';
import { advice, lineOf, linkedResources, type LintedSkill, readSkillFolder } from './linked-resources.ts';

/** The other skills that lint considers, as SKILL.md files. */
export interface Neighbours {
  /** Skills that are not linted: they are compared with, and `requires` may name them. */
  readonly beside?: readonly string[];
  /** Skills that no agent is offered: linted, and compared with no other. */
  readonly apart?: ReadonlySet<string>;
  /** Shipped skills, which nobody edits. */
  readonly shipped?: ReadonlySet<string>;
  /** Ids that are not the name of the folder, such as those of a plugin's skills. */
  readonly ids?: ReadonlyMap<string, string>;
}

/** Checks skills against the specification and gives advice. `given` are SKILL.md files. Results are in their order. */
export async function adviseOn(
  given: readonly string[],
  { beside = [], apart = new Set(), shipped = new Set(), ids: listed = new Map() }: Neighbours = {},
): Promise<readonly LintResult[]> {
  const results = await inTurn(given, (file) => lintSkill(file, path.dirname(file)));
  const idOf = (file: string) => listed.get(file) ?? path.basename(path.dirname(file));
  const read = (file: string) => readSkillFolder(file, idOf(file));
  const linted = (await inTurn(given, read)).filter((skill) => skill !== null);
  const ids = new Set(linted.map(({ id }) => id));
  const others = await inTurn(
    beside.filter((file) => !given.includes(file) && !ids.has(idOf(file))),
    read,
  );
  const all = [...linted, ...others.filter((skill) => skill !== null)].sort((a, b) => (a.id < b.id ? -1 : 1));
  const compared = all.filter(({ file }) => !apart.has(file));
  const comparable = linted.filter(({ file }) => !apart.has(file));
  const found: Diagnostic[] = [
    ...requirements(linted, all),
    ...outrankedExamples(comparable, compared, shipped),
    ...similarDescriptions(compared, new Set(comparable)),
  ];
  for (const skill of linted) found.push(...whenToUse(skill), ...templateLeft(skill), ...(await linkedResources(skill)));
  return results.map((result, at) => ({
    ...result,
    path: path.dirname(given[at]!),
    diagnostics: [...result.diagnostics, ...found.filter(({ file }) => file === given[at]).sort(byLine)],
  }));
}

async function inTurn<In, Out>(values: readonly In[], work: (value: In) => Promise<Out>): Promise<Out[]> {
  const results: Out[] = [];
  for (const value of values) results.push(await work(value));
  return results;
}

function byLine(a: Diagnostic, b: Diagnostic): number {
  return (a.line ?? 0) - (b.line ?? 0);
}

/** Text of `skills new` that nobody has replaced. */
function* templateLeft(skill: LintedSkill): Iterable<Diagnostic> {
  const left = (what: string, cure: string, line: number) =>
    advice(skill, 'template_left', { message: `still has the ${what} that skills new wrote`, cure }, line);
  if (skill.description.includes(PLACEHOLDERS.description))
    yield left('description', 'write `description: What it does. Use when …` in its place', lineOf(skill, 'description'));
  if (skill.body.includes(PLACEHOLDERS.body))
    yield left(
      'text',
      'write in its place the steps that the agent must follow',
      skill.bodyLine + skill.body.split(PLACEHOLDERS.body)[0]!.split('\n').length - 1,
    );
}

const SAYS =
  /\b(?:when(?:ever)?|while|before|after|if (?:the|a|you|an|asked)|asks?|asked|wants?|needs?|trigger(?:s|ed)?|mentions?|(?:use|used|useful|invoke|apply|call|activate|load|run|helps?|designed|intended|guide|required?|must) (?:this |it |the |skill |be |you |only |proactively |always )*(?:for|to|with|in|as|by|on|at)|use (?:this|it|proactively)|must (?:use|be used)|for (?:\w+ing|any|all|creating|when)|(?:any|every) (?:time|request|task)|tasks? (?:like|such|that|involving)|scenarios?|situations?|questions?)\b/i;
const OTHER_LANGUAGES =
  /[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|\b(?:wenn|wann|lorsque|quand|cuando|quando|\u043a\u043e\u0433\u0434\u0430|\u0435\u0441\u043b\u0438)\b/i;

/** A description that says what but not when: the model cannot know that it should read on. */
function* whenToUse(skill: LintedSkill): Iterable<Diagnostic> {
  const { description, triggers, extra, examples } = skill;
  const texts = [description, extra['when_to_use'], extra['when-to-use'], extra['whenToUse']]
    .filter((one) => typeof one === 'string')
    .join(' ');
  if (triggers !== null || examples.length > 0 || SAYS.test(texts) || OTHER_LANGUAGES.test(texts)) return;
  yield advice(
    skill,
    'when_to_use_missing',
    {
      message: 'has a description that does not say when to use it',
      cure: 'write `Use when …` at its end, in the words that people would use',
    },
    'description',
  );
}

/** Examples for which the word ranker puts another skill first. `all` are the skills offered together; nobody edits those of `shipped`. */
function* outrankedExamples(
  skills: readonly LintedSkill[],
  all: readonly LintedSkill[],
  shipped: ReadonlySet<string>,
): Iterable<Diagnostic> {
  if (!skills.some(({ examples }) => examples.length > 0)) return;
  const ranker = new Bm25fRanker();
  const files = new Map(all.map(({ id, file }) => [id, file]));
  for (const skill of all) ranker.upsert(documentOf(skill));
  for (const skill of skills) {
    for (const example of skill.examples) {
      const [first] = ranker.rank(example, { k: 1 });
      if (first === undefined || first.id === skill.id) continue;
      const others = shipped.has(files.get(first.id)!) ? '' : `, or take them out of '${first.id}'`;
      const message = `is second to '${first.id}' for its own example '${example}' (it matched ${first.why.join(', ')})`;
      const cure = `write '${missingWords(example, skill.description)}' in the description of '${skill.id}'${others}`;
      yield advice(skill, 'example_outranked', { message, cure }, 'examples');
    }
  }
}

/** The example's words that the description lacks; all of them where it has each. */
function missingWords(example: string, description: string): string {
  const said = termsOf(description);
  const missing = example.split(/\s+/).filter((word) => [...termsOf(word)].some((term) => !said.has(term)));
  return missing.length === 0 ? example : missing.join(' ');
}

/** The document in the form that search uses. */
function documentOf({ id, name, description, tags, examples, triggers, extra, body }: LintedSkill): TextDocument {
  const more = [extra['when_to_use'], extra['when-to-use'], ...(triggers?.keywords ?? []), ...(triggers?.verbs ?? [])];
  return { id, name: clean(name), description, tags, examples: [...examples, ...more.filter((one) => typeof one === 'string')], body };
}

/** Unknown names in `requires`, and circles. `all` are the skills that may be named. */
function* requirements(skills: readonly LintedSkill[], all: readonly LintedSkill[]): Iterable<Diagnostic> {
  const byId = new Map(all.map((skill) => [skill.id, skill]));
  const names = new Map(all.map((skill) => [skill.name, skill]));
  const meant = (wanted: string) => byId.get(wanted) ?? names.get(wanted);
  for (const skill of skills) {
    for (const wanted of skill.requires) {
      if (meant(wanted) !== undefined) continue;
      const hint = didYouMean(wanted, byId.keys());
      const [near] = nearest(wanted, byId.keys(), 1);
      const first = near === undefined ? 'add a skill of that id' : `write \`- ${near}\` in its place`;
      yield advice(
        skill,
        'requires_unknown',
        { message: `requires '${wanted}', which no source has${hint}`, cure: `${first}, or remove the line \`- ${wanted}\`` },
        'requires',
      );
    }
  }
  const reported = new Set<string>();
  for (const skill of skills) {
    const circle = circleFrom(skill, meant);
    if (circle === null) continue;
    const key = circle
      .map(({ id }) => id)
      .sort()
      .join(' ');
    if (reported.has(key)) continue;
    reported.add(key);
    const chain = [...circle, circle[0]!].map(({ id }) => id).join(' → ');
    const last = circle.at(-1)!.id;
    const cure = `remove \`- ${skill.id}\` from the \`requires:\` of '${last}', or the like of another of them`;
    yield advice(skill, 'requires_circle', { message: `requires itself in a circle: ${chain}`, cure }, 'requires');
  }
}

/** The shortest chain of requirements from a skill back to itself; null: none. */
function circleFrom(start: LintedSkill, meant: (wanted: string) => LintedSkill | undefined): readonly LintedSkill[] | null {
  const from = new Map<LintedSkill, LintedSkill | null>([[start, null]]);
  const queue = [start];
  for (let skill = queue.shift(); skill !== undefined; skill = queue.shift()) {
    for (const wanted of skill.requires) {
      const next = meant(wanted);
      if (next === start) {
        const chain: LintedSkill[] = [];
        for (let one: LintedSkill | null = skill; one !== null; one = from.get(one) ?? null) chain.unshift(one);
        return chain;
      }
      if (next === undefined || from.has(next)) continue;
      from.set(next, skill);
      queue.push(next);
    }
  }
  return null;
}

/** Skills with nearly the same descriptions. One finding for all that are near to a linted one; each pair is reported once. */
function* similarDescriptions(skills: readonly LintedSkill[], linted: ReadonlySet<LintedSkill>): Iterable<Diagnostic> {
  const compared = skills.map((skill) => ({ skill, words: wordsOf(skill) }));
  const holders = new Map<string, number[]>();
  const near = new Map<LintedSkill, Map<LintedSkill, number>>();
  for (const [at, one] of compared.entries()) {
    const { skill, words } = one;
    if (!isComparable(words)) continue;
    const common = new Map<number, number>();
    for (const term of words.said) {
      const before = holders.get(term) ?? [];
      // A word of a great many descriptions distinguishes none, and would make this quadratic.
      if (before.length < 200) for (const other of before) common.set(other, (common.get(other) ?? 0) + 1);
      before.push(at);
      holders.set(term, before);
    }
    for (const [index, count] of common) {
      const { skill: other, words: others } = compared[index]!;
      const similarity = likenessOf(words, others, count);
      if (similarity === null) continue;
      const [first, second] = linted.has(other) ? [other, skill] : [skill, other];
      if (!linted.has(first)) continue;
      near.set(first, (near.get(first) ?? new Map<LintedSkill, number>()).set(second, similarity));
    }
  }
  const groups: Set<LintedSkill>[] = [];
  for (const first of skills) {
    const others = [...(near.get(first) ?? [])].filter(([other]) => !groups.some((group) => group.has(first) && group.has(other)));
    if (others.length === 0) continue;
    groups.push(new Set([first, ...others.map(([other]) => other)]));
    yield finding(first, others);
  }
}

function finding(first: LintedSkill, others: readonly (readonly [LintedSkill, number])[]): Diagnostic {
  const [least, most] = [Math.min, Math.max].map((pick) => Math.round(pick(...others.map(([, similarity]) => similarity)) * 100));
  const names = others.map(([{ id }]) => `'${id}'`);
  const percent = least === most ? `${most}` : `${least} to ${most}`;
  return advice(
    first,
    'description_similar',
    {
      message: `is hard to tell from ${enumerated(names)}: ${percent} % of the words of their descriptions are the same`,
      cure: `write in each description what it alone is for, here such as \`Use for …; for … use ${others[0]![0].id}\`, or make them one skill`,
    },
    'description',
  );
}
