export { hiddenFolders } from './hidden-folders.ts';
export { hideKeys } from './key-shapes.ts';
export { didYouMean, nearest, slipsOf } from './nearest.ts';
export { notTextAt } from './not-text-at.ts';
export { findingLine, printable, printableJson, printableLine, printablePainted, PrintableStream } from './printable.ts';
export { displayWidth, graphemes, wrapLines } from './terminal-text.ts';
export { counted, endsOf, enumerated, headAndTail, numberText, sizeText, someOf, splitWords, withCure } from './words.ts';
