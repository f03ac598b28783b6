import { displayWidth } from '@pith/plain-text';
import { answerOf } from './answer-words.ts';
import type { LineEditor } from './line-editor.ts';

export interface PersonQuestion {
  readonly question: string;
  readonly choices?: readonly string[];
  readonly secret?: boolean;
  /** Of the terminal: a longer question is printed above the line where it is answered. */
  readonly columns: number;
  readonly print: (line: string) => void;
  /** Shows which answers there are, after one that is none of them. */
  readonly hint: (line: string) => void;
}

/** The answer; one of the choices where there are some, of which a beginning is enough. null when the input ends, or the person leaves the question. */
export async function askPerson(
  editor: Pick<LineEditor, 'ask' | 'choose'>,
  { question, choices, secret, columns, print, hint }: PersonQuestion,
  signal: AbortSignal,
): Promise<string | null> {
  const isYesOrNo = choices?.length === 2 && choices[0] === 'yes' && choices[1] === 'no';
  const answers = isYesOrNo ? '[y]es, [n]o ' : choices ? `[${choices.join('/')}] ` : '';
  const isLong = displayWidth(question) + displayWidth(answers) + 1 > columns;
  if (isLong) print(question);
  const prompt = isLong ? answers : `${question} ${answers}`;
  for (;;) {
    const answer = isYesOrNo ? await editor.choose(prompt, 'yn', signal) : await editor.ask(prompt, signal, secret);
    if (answer === null || secret === true) return answer;
    const typed = answer.trim();
    if (choices === undefined) return typed;
    const chosen = isYesOrNo ? ({ y: 'yes', n: 'no' } as const)[answerOf(typed) as 'y' | 'n'] : choiceIn(choices, typed);
    if (chosen !== undefined) return chosen;
    hint(`Answer with ${choices.join(' or ')}; Ctrl-C leaves the question`);
  }
}

function choiceIn(choices: readonly string[], typed: string): string | undefined {
  const meant = choices.filter((choice) => choice.toLowerCase().startsWith(typed.toLowerCase()));
  return choices.find((choice) => choice === typed) ?? (typed !== '' && meant.length === 1 ? meant[0] : undefined);
}
