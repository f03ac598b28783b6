import type { TurnInfo } from 'pith';
import type { SkillRegistry } from '../registry.ts';
import { NOTHING_LEARNED } from './learned-examples.ts';
import { learnedOf, openIndex } from './open-index.ts';
import { SearchWays, type SearchWaysOptions } from './search-ways.ts';
import { SkillSearch } from './skill-search.ts';
import { TurnLessons } from './turn-lessons.ts';

export interface OpenedSearch {
  readonly search: SkillSearch;
  /** null where nothing may be learned. */
  readonly lessons: TurnLessons | null;
}

/** The search over a registry's skills, and what learns for it from the turns whose agents allow it. The caller closes it, after the lessons have settled. */
export function openSearch(
  context: SearchWaysOptions['context'],
  registry: SkillRegistry,
  allows: (turn: TurnInfo) => boolean,
): OpenedSearch {
  const learned = learnedOf(context);
  const ways = new SearchWays({ context, readBody: (skill) => registry.studyBody(skill), learned: learned ?? NOTHING_LEARNED });
  const search = new SkillSearch(openIndex(context, registry, learned), ways);
  if (learned === null) return { search, lessons: null };
  const skillOf = (id: string) => registry.current().skills.get(id);
  const onLearned = () => void search.relearn(registry.current());
  return { search, lessons: new TurnLessons({ learned, logger: context.logger, skillOf, allows, onLearned }) };
}
