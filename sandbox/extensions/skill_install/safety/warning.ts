/** An order not to do it; `Do not go on before it runs` is none. */
const FORBIDS = String.raw`\b(?:never|do not|don't|don\u2019t|must not|mustn't|should not|shouldn't|cannot|avoid|refuse to|leave out)\s(?:\w{1,12}\s){0,2}(?:run|execut|open|launch|start|download|extract|unpack|past|install|follow|visit|guess|send|upload|shar|print|commit|copy|includ|post|read|log|leak|put|add|writ|us|chang|switch|turn|disabl|pip|do|touch|accept|allow|any)(?:ing|e|es|ting)?\b`;

/** Lines that warn of something or teach it: by such an order, or by these words besides. */
export function warning(words: string): RegExp {
  return new RegExp(String.raw`${FORBIDS}|\b(?:red flags?|suspicious|malicious|attack\w{0,6}|${words})\b`, 'i');
}
