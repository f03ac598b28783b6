import { describe, expect, it } from 'vitest';
import { taskOf, triggerOf } from '../../../sandbox/extensions/skill_evals/cases/case.ts';
import { isGain, overall, tallyOf, triggerVerdict, verdictOf, type Verdict } from '../../../sandbox/extensions/skill_evals/verdict.ts';

const run = (passed: boolean, loaded: boolean) => ({
  passed,
  loaded,
  reasons: [],
  judged: [],
  inputTokens: 1,
  outputTokens: 1,
  milliseconds: 1,
});
/** So many of three runs pass; all load. */
const passing = (count: number) => tallyOf([0, 1, 2].map((at) => run(at < count, true)));

describe('the verdict of a case', () => {
  it.each([
    [0, 3, 'repaired'],
    [1, 3, 'repaired'],
    [2, 3, 'same'],
    [3, 3, 'same'],
    [3, 2, 'same'],
    [3, 1, 'broken'],
    [2, 0, 'broken'],
  ] as const)('P12 passes of three runs: %i before and %i after are %s', (before, after, verdict) => {
    expect(verdictOf(passing(before), passing(after))).toBe(verdict);
  });

  it('P14 a pass without loading the skill is no success of the skill, and no failure of it either', () => {
    const unloaded = tallyOf([run(true, false), run(true, false), run(true, false)]);
    expect(unloaded).toEqual({ runs: 3, passed: 3, loaded: 0, succeeded: 0 });
    expect(verdictOf(passing(0), unloaded)).toBe('same');
    expect(verdictOf(passing(3), unloaded)).toBe('same');
  });

  it('P12 a trigger is asked once', () => {
    expect([triggerVerdict(true, false), triggerVerdict(false, true), triggerVerdict(true, true)]).toEqual(['broken', 'repaired', 'same']);
  });
});

describe('the verdict of all cases', () => {
  const judged = (...verdicts: readonly (readonly [Verdict, 'train' | 'held_out'])[]) =>
    verdicts.map(([verdict, split], at) => ({
      verdict,
      case: at % 2 === 0 ? triggerOf(`t${at}`, 'load', split) : taskOf(`p${at}`, [], [], split),
    }));

  it('P12 one broken case makes it worse, whatever the others gained', () => {
    expect(overall(judged(['repaired', 'train'], ['repaired', 'held_out'], ['broken', 'train']))).toBe('worse');
    expect(overall(judged(['repaired', 'train'], ['same', 'held_out']))).toBe('better');
    expect(overall(judged(['same', 'train']))).toBe('same');
  });

  it('P12 P13 it is a gain by three cases of which a third are held out, and one of these is repaired', () => {
    expect(isGain(judged(['repaired', 'held_out'], ['same', 'train'], ['same', 'train']))).toBe(true);
    expect(isGain(judged(['repaired', 'train'], ['same', 'held_out'], ['same', 'train']))).toBe(false);
    expect(isGain(judged(['repaired', 'held_out'], ['same', 'train']))).toBe(false);
    expect(isGain(judged(['repaired', 'held_out'], ['same', 'train'], ['same', 'train'], ['same', 'train']))).toBe(false);
    expect(isGain(judged(['repaired', 'held_out'], ['broken', 'train'], ['same', 'train']))).toBe(false);
  });
});
