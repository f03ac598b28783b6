export { headerProblem } from './loose-values.ts';
export { missingAnswer } from './server-error.ts';
export { modelNames } from './model-lists.ts';
export { countOf, listOf, textOf } from './loose-values.ts';
export { readRest, serverEvents, type ServerEvent } from './server-events.ts';
export { failureIn, ServerError } from './server-error.ts';
export { codeIn, isWebPage, serverWords } from './server-words.ts';
