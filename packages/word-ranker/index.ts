export { STOP_WORDS } from './stop-words.ts';
export { Bm25fRanker, PARAMETERS } from './bm25f.ts';
export { BODY_CHARACTERS, type RankOptions, type TextDocument } from './document.ts';
export { synonymsOf } from './synonyms.ts';
export { TextRanker } from './text-ranker.ts';
export { eachTerm, queryTerms } from './tokens.ts';
export { packedVectors, WordVectors } from './word-vectors.ts';
