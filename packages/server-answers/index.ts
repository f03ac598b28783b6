export { modelNames } from './model-lists.ts';
export { countOf, headerProblem, listOf, textOf } from './loose-values.ts';
export { EVENT_STREAM, HEARTBEAT_MS, sentEvent, withHeartbeats } from './sent-events.ts';
export { readRest, serverEvents, type ServerEvent } from './server-events.ts';
export { failureIn, missingAnswer, ServerError } from './server-error.ts';
export { codeIn, isWebPage, serverWords } from './server-words.ts';
