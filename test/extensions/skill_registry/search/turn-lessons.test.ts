import { expect, it } from 'vitest';
import type { TurnInfo } from 'pith';
import type { LearnedExamples, Lesson } from '../../../../sandbox/extensions/skill_registry/search/learned-examples.ts';
import { TurnLessons } from '../../../../sandbox/extensions/skill_registry/search/turn-lessons.ts';
import type { Skill } from '../../../../sandbox/extensions/skill_registry/skill.ts';

it('R5 nothing is learned from what the offline model loads: it takes the first of equals', async () => {
  const kept: Lesson[] = [];
  const learned = { add: async (lessons: readonly Lesson[]) => void kept.push(...lessons) } as unknown as LearnedExamples;
  const logger = { debug() {}, info() {}, warn() {}, error() {} };
  const skillOf = (id: string) => ({ id, name: id }) as Skill;
  const lessons = new TurnLessons({ learned, logger, skillOf, allows: () => true, onLearned: () => {} });
  for (const ref of ['offline/librarian', 'some/model']) {
    const turn = { id: ref, depth: 0, model: { ref, contextWindow: null }, userTexts: ['Plan our paddling trip'] } as unknown as TurnInfo;
    lessons.loaded(turn, { skillId: ref.split('/')[0]!, how: 'tool' } as unknown as Parameters<TurnLessons['loaded']>[1]);
    lessons.ended({ turnId: ref, reason: 'done' });
  }
  await lessons.settled();
  expect(kept.map(({ skillId }) => skillId)).toEqual(['some']);
});
