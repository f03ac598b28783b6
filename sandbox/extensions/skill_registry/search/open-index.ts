import type { CommandContext } from 'pith';
import type { SkillRegistry } from '../registry.ts';
import { createRanker } from './bm25f.ts';
import { indexFileIn } from './index-file.ts';
import { SkillIndex } from './skill-index.ts';

/** The search index over one registry's skills, as the last process left it. The caller closes it. */
export function openIndex({ dataDirectory, clock, logger }: CommandContext, registry: SkillRegistry): SkillIndex {
  return new SkillIndex({
    createRanker,
    file: indexFileIn(dataDirectory),
    readBody: (skill) => registry.studyBody(skill),
    onRead: () => registry.publishTokens(),
    clock,
    logger,
  });
}
