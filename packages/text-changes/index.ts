export { difference } from './difference.ts';
export { BYTE_ORDER_MARK, linesOf, withLineEndsOf, withoutReturns, type Line } from './line-ends.ts';
export { mergedText, type Conflict } from './merged-text.ts';
export { patchedText, type Misfit } from './patched-text.ts';
export { applyTo, parsePlan, type FilePatch } from './patch-plan.ts';
