import { diff3Merge } from 'node-diff3';
import { withLineEndsOf, withoutReturns } from './line-ends.ts';

/** Two changes of the same lines. */
export interface Conflict {
  /** Where it is in the present text, from 1. */
  readonly line: number;
  readonly before: readonly string[];
  readonly present: readonly string[];
  readonly proposed: readonly string[];
}

interface Region {
  readonly ok?: readonly string[];
  readonly conflict?: Readonly<Record<'a' | 'o' | 'b', readonly string[]>> & { readonly aIndex: number };
}

/** The present text with what `proposed` changes of `before`, or where both change the same lines. Line ends stay those of the present text. */
export function mergedText(before: string, present: string, proposed: string): string | readonly Conflict[] {
  const lines = (text: string) => withoutReturns(text).split('\n');
  const regions = diff3Merge(lines(present), lines(before), lines(proposed), { excludeFalseConflicts: true }) as readonly Region[];
  const conflicts = regions.flatMap(({ conflict }): Conflict[] =>
    conflict === undefined ? [] : [{ line: conflict.aIndex + 1, before: conflict.o, present: conflict.a, proposed: conflict.b }],
  );
  return conflicts.length > 0 ? conflicts : withLineEndsOf(present, regions.flatMap(({ ok = [] }) => ok).join('\n'));
}
