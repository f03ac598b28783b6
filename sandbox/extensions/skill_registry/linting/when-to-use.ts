import type { Diagnostic } from 'pith';
import { advice } from './advice.ts';
import type { LintedSkill } from './read-skill-folder.ts';

const SAYS =
  /\b(?:when(?:ever)?|while|before|after|if (?:the|a|you|an|asked)|asks?|asked|wants?|needs?|trigger(?:s|ed)?|mentions?|(?:use|used|useful|invoke|apply|call|activate|load|run|helps?|designed|intended|guide|required?|must) (?:this |it |the |skill |be |you |only |proactively |always )*(?:for|to|with|in|as|by|on|at)|use (?:this|it|proactively)|must (?:use|be used)|for (?:\w+ing|any|all|creating|when)|(?:any|every) (?:time|request|task)|tasks? (?:like|such|that|involving)|scenarios?|situations?|questions?)\b/i;
const OTHER_LANGUAGES =
  /[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|\b(?:wenn|wann|lorsque|quand|cuando|quando|\u043a\u043e\u0433\u0434\u0430|\u0435\u0441\u043b\u0438)\b/i;

/** A description that tells what, and not when: then the model cannot know that it should read on. */
export function* whenToUse(skill: LintedSkill): Iterable<Diagnostic> {
  const { description, triggers, extra, examples } = skill;
  const told = [description, extra['when_to_use'], extra['when-to-use'], extra['whenToUse']]
    .filter((one) => typeof one === 'string')
    .join(' ');
  if (triggers !== null || examples.length > 0 || SAYS.test(told) || OTHER_LANGUAGES.test(told)) return;
  yield advice(
    skill,
    'when_to_use_missing',
    'warning',
    'has a description that does not say when to use it',
    "add a sentence 'Use when …' in the words that people would use",
    'description',
  );
}
