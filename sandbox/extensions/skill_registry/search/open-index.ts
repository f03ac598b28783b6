import type { CommandContext } from 'pith';
import type { SkillRegistry } from '../registry.ts';
import { createRanker } from './bm25f.ts';
import { LearnedExamples, NOTHING_LEARNED, type Learned } from './learned-examples.ts';
import { SkillIndex } from './skill-index.ts';

/** Up to so many skills the words of all bodies are kept in memory, some 2.5 KB each. */
export const CANDIDATES_ABOVE = 20_000;

/** The search index over one registry's skills, as the last process left it. The caller closes it. */
export function openIndex(
  context: CommandContext,
  registry: SkillRegistry,
  learned: Learned | null = learnedOf(context),
  candidatesAbove = CANDIDATES_ABOVE,
): SkillIndex {
  const { clock, logger } = context;
  return new SkillIndex({
    createRanker,
    context,
    candidatesAbove,
    readBody: (skill) => registry.studyBody(skill),
    learned: learned ?? NOTHING_LEARNED,
    onRead: () => registry.publishTokens(),
    clock,
    logger,
  });
}

/** What people's texts taught; null where `skills.learn_examples` is off. */
export function learnedOf(context: Pick<CommandContext, 'dataDirectory' | 'clock' | 'logger' | 'config'>): LearnedExamples | null {
  return context.config['learn_examples'] === false ? null : new LearnedExamples(context);
}
