import type { CommandContext, TurnInfo } from 'pith';
import type { SkillRegistry } from '../registry.ts';
import { learnedOf, openIndex } from './open-index.ts';
import { SkillSearch } from './skill-search.ts';
import { TurnLessons } from './turn-lessons.ts';

export interface OpenedSearch {
  readonly search: SkillSearch;
  /** null where nothing may be learned. */
  readonly lessons: TurnLessons | null;
}

/** The search over a registry's skills, and what learns for it from the turns whose agents allow it. The caller closes it, after the lessons have settled. */
export function openSearch(context: CommandContext, registry: SkillRegistry, allows: (turn: TurnInfo) => boolean): OpenedSearch {
  const learned = learnedOf(context);
  const search = new SkillSearch(openIndex(context, registry, learned));
  if (learned === null) return { search, lessons: null };
  const skillOf = (id: string) => registry.current().skills.get(id);
  const onLearned = () => void search.prepare(registry.current());
  return { search, lessons: new TurnLessons({ learned, logger: context.logger, skillOf, allows, onLearned }) };
}
