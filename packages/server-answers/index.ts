export { headerProblem } from './header-values.ts';
export { modelNames } from './model-lists.ts';
export { serverEvents, type ServerEvent } from './server-events.ts';
export { codeIn, isWebPage, serverWords } from './server-words.ts';
