import type { AnswerKey } from './answer-words.ts';

/** What of a question decides how it is asked. */
export interface Askable {
  /** `once`, `always`, `project`, `no`: those that it takes. */
  readonly answers: readonly string[];
  /** What an `always` covers; absent where it is not offered. */
  readonly covers?: string | undefined;
}

/** The keys that answer, those that are not offered left out. */
export function keysOf({ answers }: Askable): readonly AnswerKey[] {
  return [
    'y',
    ...(answers.includes('always') ? (['a'] as const) : []),
    ...(answers.includes('project') ? (['p'] as const) : []),
    ...(['n', 'e', 'v', '?'] as const),
  ];
}

/** `Allow? [y]es, [a]lways in this chat (…), always in this [p]roject, [n]o, [e]xplain no, [v]iew all, [?] `. */
export function promptOf(question: Askable): string {
  const { covers } = question;
  const words: Readonly<Record<AnswerKey, string>> = {
    y: '[y]es',
    a: `[a]lways in this chat${covers === undefined ? '' : ` (${covers})`}`,
    p: 'always in this [p]roject',
    n: '[n]o',
    e: '[e]xplain no',
    v: '[v]iew all',
    '?': '[?]',
  };
  return `Allow? ${keysOf(question)
    .map((key) => words[key])
    .join(', ')} `;
}

/** What each key does, a line each. */
export function keyHelp(question: Askable): readonly string[] {
  const covered = question.covers ?? 'such calls';
  const words: Readonly<Record<AnswerKey, string>> = {
    y: 'allow this call',
    a: `allow ${covered} in this chat, without asking again`,
    p: `allow ${covered} in every chat of this project; /permissions shows and removes it`,
    n: 'refuse; the agent goes on without it',
    e: 'refuse and say why; the agent reads it',
    v: 'show everything, however long',
    '?': 'show these keys',
  };
  return [
    ...keysOf(question).map((key) => `  ${key}  ${words[key]}`),
    '  Words work too: yes, always, project, no. A slash command runs, and the question stays. Ctrl-C leaves it open.',
  ];
}
