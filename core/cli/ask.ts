import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';

/** Asks a person on a terminal; null when they end the input. With choices it asks until one of them is given. */
export async function askOn(
  stdio: { readonly input: NodeJS.ReadableStream; readonly output: NodeJS.WritableStream },
  question: string,
  options: { readonly choices?: readonly string[]; readonly secret?: boolean } = {},
): Promise<string | null> {
  const { choices, secret } = options;
  const prompt = choices ? `${question} [${choices.join('/')}] ` : `${question} `;
  const output = secret ? silent() : stdio.output;
  if (secret) stdio.output.write(prompt);
  const lines = createInterface({ input: stdio.input, output, terminal: true, historySize: 0 });
  const ended = new Promise<null>((resolve) => lines.once('close', () => resolve(null)));
  try {
    for (;;) {
      const answer = await Promise.race([lines.question(secret ? '' : prompt), ended]);
      if (answer === null || !choices) return answer;
      const choice = chosen(answer, choices);
      if (choice !== undefined) return choice;
    }
  } finally {
    lines.close();
    if (secret) stdio.output.write('\n');
  }
}

/** The choice that `answer` is, or is the only one to begin with. */
function chosen(answer: string, choices: readonly string[]): string | undefined {
  const wanted = answer.trim().toLowerCase();
  const matching = choices.filter((choice) => choice.toLowerCase().startsWith(wanted));
  return choices.find((choice) => choice.toLowerCase() === wanted) ?? (wanted !== '' && matching.length === 1 ? matching[0] : undefined);
}

function silent(): Writable {
  return new Writable({ write: (_chunk, _encoding, done) => done() });
}
