import type { Trigger, Task } from './cases/case.ts';
import type { RunResult } from './runs/run-store.ts';

/** What the runs of one case on one side have shown. */
export interface Tally {
  readonly runs: number;
  readonly passed: number;
  readonly loaded: number;
  /** Passed with the skill loaded: a pass without it is no success of the skill. */
  readonly succeeded: number;
}

export type Verdict = 'repaired' | 'broken' | 'same';

/** Fewer say nothing: the same model answers differently each time. */
const ENOUGH = 2;

export function tallyOf(results: Iterable<RunResult>): Tally {
  const all = [...results];
  const count = (is: (result: RunResult) => boolean) => all.filter(is).length;
  return {
    runs: all.length,
    passed: count(({ passed }) => passed),
    loaded: count(({ loaded }) => loaded),
    succeeded: count(({ passed, loaded }) => passed && loaded),
  };
}

/** `after` is with the skill. Both sides ran equally often. */
export function verdictOf(before: Tally, after: Tally): Verdict {
  if (before.passed - after.passed >= ENOUGH) return 'broken';
  return after.succeeded - before.passed >= ENOUGH ? 'repaired' : 'same';
}

/** A trigger is asked offline, and answers the same each time. */
export function triggerVerdict(before: boolean, after: boolean): Verdict {
  return before === after ? 'same' : after ? 'repaired' : 'broken';
}

/** A case, and what came of it. */
export interface Judged {
  readonly case: Trigger | Task;
  readonly verdict: Verdict;
}

/** One broken case makes it worse, whatever the others gained. */
export function overall(judged: readonly Judged[]): 'better' | 'same' | 'worse' {
  if (judged.some(({ verdict }) => verdict === 'broken')) return 'worse';
  return judged.some(({ verdict }) => verdict === 'repaired') ? 'better' : 'same';
}

/** `1 repaired, 0 broken, 2 the same`. */
export function countsText(judged: readonly Judged[]): string {
  const count = (which: Verdict) => judged.filter(({ verdict }) => verdict === which).length;
  return `${count('repaired')} repaired, ${count('broken')} broken, ${count('same')} the same`;
}

/** The same; where nothing changed, that there is no measured gain: it is never shown as a pass. */
export function gainText(judged: readonly Judged[]): string {
  return overall(judged) === 'same' ? `no measured gain, ${judged.length} the same` : countsText(judged);
}

/** At least three cases of which a third are held out, none broken, and a held-out one repaired. */
export function isGain(judged: readonly Judged[]): boolean {
  const heldOut = judged.filter((one) => one.case.split === 'held_out');
  const isEnough = judged.length >= 3 && heldOut.length * 3 >= judged.length;
  return isEnough && overall(judged) === 'better' && heldOut.some(({ verdict }) => verdict === 'repaired');
}

export function textOf(one: Trigger | Task): string {
  return 'text' in one ? one.text : one.prompt;
}
