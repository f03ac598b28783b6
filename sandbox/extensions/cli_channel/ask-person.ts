import type { LineEditor } from './line-editor.ts';

export interface PersonQuestion {
  readonly question: string;
  readonly choices?: readonly string[];
  readonly secret?: boolean;
  /** Shows which answers there are, after one that is none of them. */
  readonly hint: (line: string) => void;
}

/** The answer; one of the choices where there are some, of which a beginning is enough. null when the input ends, or the person leaves the question. */
export async function askPerson(
  editor: Pick<LineEditor, 'ask'>,
  { question, choices, secret, hint }: PersonQuestion,
  signal: AbortSignal,
): Promise<string | null> {
  const prompt = choices ? `${question} [${choices.join('/')}] ` : `${question} `;
  for (;;) {
    const answer = await editor.ask(prompt, signal, secret);
    if (answer === null || secret === true) return answer;
    const typed = answer.trim();
    if (choices === undefined) return typed;
    const meant = choices.filter((choice) => choice.toLowerCase().startsWith(typed.toLowerCase()));
    const exact = choices.find((choice) => choice === typed) ?? (typed !== '' && meant.length === 1 ? meant[0] : undefined);
    if (exact !== undefined) return exact;
    hint(`Answer with ${choices.join(' or ')}`);
  }
}
