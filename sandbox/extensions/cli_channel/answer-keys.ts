/** How a person can answer a question. */
export type AnswerKey = 'y' | 'a' | 'p' | 'n' | 'e' | 'v' | '?';

const WORDS: ReadonlyMap<string, AnswerKey> = new Map([
  ...(['y', 'yes', 'ok', 'okay', 'once', 'allow', 'o'] as const).map((word) => [word, 'y'] as const),
  ...(['a', 'always'] as const).map((word) => [word, 'a'] as const),
  ...(['p', 'project'] as const).map((word) => [word, 'p'] as const),
  ...(['n', 'no'] as const).map((word) => [word, 'n'] as const),
  ...(['e', 'explain'] as const).map((word) => [word, 'e'] as const),
  ...(['v', 'view'] as const).map((word) => [word, 'v'] as const),
  ...(['?', 'help'] as const).map((word) => [word, '?'] as const),
]);

/** The key that a word means, in any case and with a dot or an exclamation mark after it; null: it is no answer. */
export function answerOf(typed: string): AnswerKey | null {
  return WORDS.get(typed.trim().toLowerCase().replace(/[.!]$/u, '')) ?? null;
}
