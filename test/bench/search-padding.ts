/** Skills that do not exist, for pools larger than what was collected. */
export interface PooledSkill {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly body: string;
}

/**
 * `transplanted`: a real skill's texts, in which the words that few skills have give way to those of another real skill: as
 * hard as real skills on neighbouring subjects. `invented`: they give way to the words of a subject that does not exist: easier.
 */
export type Padding = 'transplanted' | 'invented';

/** A word that at most so many of the pool's skills have says what a skill is about. */
const SUBJECT_WORD = 20;
const SUBJECTS = 900;
const WORDS_OF_SUBJECT = 200;

/** `count` skills: each has the shape and the general words of one of `templates`, and the subject of another. */
export function padding(templates: readonly PooledSkill[], count: number, kind: Padding, random: () => number): PooledSkill[] {
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!;
  const spread = spreadOf(templates);
  const own = new Map(templates.map((skill) => [skill, subjectWords(skill, spread)]));
  const invented = Array.from({ length: SUBJECTS }, () => Array.from({ length: WORDS_OF_SUBJECT }, () => inventedWord(pick, random)));
  return Array.from({ length: count }, (_, at) => {
    const template = pick(templates);
    const subject = kind === 'invented' ? pick(invented) : own.get(pick(templates))!;
    const words = new Map(own.get(template)!.map((word, rank) => [word, subject[rank % Math.max(1, subject.length)] ?? word]));
    const rewrite = (text: string) => text.replace(/[\p{L}\p{N}]+/gu, (word) => words.get(word.toLowerCase()) ?? word);
    const name = rewrite(template.name);
    return {
      id: `generated/${at}/${name}`,
      name,
      description: rewrite(template.description),
      tags: template.tags.map(rewrite),
      body: rewrite(template.body),
    };
  });
}

/** In how many skills each word occurs. */
function spreadOf(skills: readonly PooledSkill[]): ReadonlyMap<string, number> {
  const spread = new Map<string, number>();
  for (const { name, description, body } of skills) {
    for (const word of new Set(wordsOf(`${name} ${description} ${body}`))) spread.set(word, (spread.get(word) ?? 0) + 1);
  }
  return spread;
}

/** The words of its subject, the most frequent first; those of name and description count three times. */
function subjectWords({ name, description, body }: PooledSkill, spread: ReadonlyMap<string, number>): readonly string[] {
  const counts = new Map<string, number>();
  for (const word of wordsOf(`${`${name} ${description} `.repeat(3)}${body}`)) {
    const isSubject = word.length > 2 && (spread.get(word) ?? 0) <= SUBJECT_WORD && !/^\d+$/.test(word);
    if (isSubject) counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return [...counts].sort(([, a], [, b]) => b - a).map(([word]) => word);
}

function inventedWord(pick: (from: readonly string[]) => string, random: () => number): string {
  return Array.from({ length: 2 + Math.floor(random() * 3) }, () => `${pick([...'bdfklmnprstvz'])}${pick([...'aeiou'])}`).join('');
}

function wordsOf(text: string): readonly string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}
