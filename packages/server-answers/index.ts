export { headerProblem } from './header-values.ts';
export { modelNames } from './model-lists.ts';
export { readRest, serverEvents, type ServerEvent } from './server-events.ts';
export { failureIn, ServerError } from './server-error.ts';
export { codeIn, isWebPage, serverWords } from './server-words.ts';
