import type { JsonValue } from 'pith';
import { isPlainMap, jsonOf } from '@pith/plain-data';
import { overlap, termsOf } from './terms.ts';

export interface ListedSkill {
  readonly id: string;
  readonly description: string;
  /** Terms of the query that the search found in the skill, where the tool lists them. */
  readonly why: readonly string[];
  /** The search marks it as a mere filler. */
  readonly weak: boolean;
}

/** Reads the result of `list_skills`: JSON with an array of skills, or lines with the id in backticks. */
export function parseSkillList(output: JsonValue): readonly ListedSkill[] {
  if (typeof output !== 'string') return fromJson(output);
  const text = output.trim();
  if (text.startsWith('{') || text.startsWith('[')) {
    const parsed = jsonOf(text);
    if (parsed !== undefined) return fromJson(parsed);
  }
  return text.split('\n').flatMap((line) => {
    const match = /^[\s•*\-\d.)]*`([^`\s]+)`\s*(?:[—–:-]+\s*)?(.*?)\s*(?:\[(weak match)?(?:; )?(?:matches: ([^\]]*))?\])?$/.exec(line);
    if (match === null) return [];
    const [, id = '', description = '', weak, matches = ''] = match;
    return [{ id, description, why: matches.split(', ').filter((term) => term !== ''), weak: weak !== undefined }];
  });
}

/**
 * The best skill for the question; null when none shares enough words: two, or half of them where there are fewer than four. `isRanked`: a
 * search ordered them, best first, and marked weak ones: takes the first that is not weak and has a word of the question. Otherwise the
 * share of a skill's words that are in the question decides, so that long descriptions do not win by their length.
 */
export function bestMatch(question: string, skills: readonly ListedSkill[], isRanked: boolean): ListedSkill | null {
  const wanted = termsOf(question);
  const needed = isRanked ? 1 : Math.min(2, Math.ceil(wanted.size / 2));
  const lower = question.toLowerCase();
  let best: { readonly skill: ListedSkill; readonly score: number } | null = null;
  for (const [rank, skill] of skills.entries()) {
    const named = lower.includes(skill.id.toLowerCase());
    const shared = overlap(wanted, `${skill.id} ${skill.description} ${skill.why.join(' ')}`);
    if (!named && (skill.weak || shared === 0 || shared < needed)) continue;
    const fit = isRanked ? 1 / (rank + 1) : (shared + overlap(wanted, skill.id)) / Math.sqrt(1 + termsOf(skill.description).size);
    const score = fit + (named ? 10 : 0);
    if (score > (best?.score ?? 0)) best = { skill, score };
  }
  return best?.skill ?? null;
}

/** The skills in the description of the one tool `skill`: elements with an id, and the description as their text. */
export function parseSkillElements(text: string): readonly ListedSkill[] {
  return [...text.matchAll(/<skill id="([^"]*)"[^>]*>([^<]*)<\/skill>/g)].map(([, id = '', description = '']) => ({
    id: plain(id),
    description: plain(description),
    why: [],
    weak: false,
  }));
}

function plain(escaped: string): string {
  const marks: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };
  return escaped.replaceAll(/&(lt|gt|quot|apos|amp);/g, (_, name: string) => marks[name] ?? '');
}

function fromJson(value: unknown): readonly ListedSkill[] {
  if (typeof value === 'string') return parseSkillList(value);
  if (Array.isArray(value)) return value.flatMap(skillOf);
  if (!isPlainMap(value)) return [];
  const list = Object.values(value).find((part) => Array.isArray(part) && part.some((item) => skillOf(item).length > 0));
  return Array.isArray(list) ? fromJson(list) : [];
}

function skillOf(item: unknown): readonly ListedSkill[] {
  if (!isPlainMap(item)) return [];
  const id = textOf(item['id']) ?? textOf(item['skill_id']);
  if (id === null) return [];
  const why = item['why'] ?? item['matched'];
  return [
    {
      id,
      description: textOf(item['description']) ?? textOf(item['brief']) ?? '',
      why: Array.isArray(why) ? why.filter((term): term is string => typeof term === 'string') : [],
      weak: item['weak'] === true,
    },
  ];
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}
