/** What an answer must be: a JSON Schema for the model, and the check of a value. */
export interface AnswerSchema {
  readonly json: object;
  /** The value as the schema makes it, or what is wrong with it. */
  check(value: unknown): Promise<{ readonly value: unknown } | { readonly problems: readonly string[] }>;
}

/** What an agent is told beside its instructions. */
export function answerInstructions({ json }: Pick<AnswerSchema, 'json'>): string {
  return `Your last message is one JSON value and nothing else, neither before nor after it. It matches this JSON Schema:\n${JSON.stringify(json)}`;
}

/** What it is asked where its answer is not that value. */
export function answerQuestion(problems: readonly string[]): string {
  return `That is not the JSON value that was asked for: ${problems.join('; ')}. Answer with the corrected JSON value alone.`;
}

/** The value in an answer: as it is, or in a fence, or from the first bracket to the last. */
export async function valueIn(
  text: string,
  schema: AnswerSchema,
): Promise<{ readonly value: unknown } | { readonly problems: readonly string[] }> {
  let problems: readonly string[] | undefined;
  for (const candidate of [text.trim(), fencedIn(text), bracketedIn(text)]) {
    const value = candidate === undefined ? undefined : jsonIn(candidate);
    if (value === undefined) continue;
    const result = await schema.check(value);
    if ('value' in result) return result;
    problems ??= result.problems;
  }
  return { problems: problems ?? ['it is not JSON'] };
}

/** Each reads the text once: a regular expression that goes back holds up the whole program on some answers. */
function fencedIn(text: string): string | undefined {
  const lines = text.split('\n').map((line) => line.trim());
  const open = lines.findIndex((line) => line.endsWith('```') || line.toLowerCase().endsWith('```json'));
  const close = lines.findIndex((line, at) => at > open && line.startsWith('```'));
  return open < 0 || close < 0 ? undefined : lines.slice(open + 1, close).join('\n');
}

function bracketedIn(text: string): string | undefined {
  const first = text.search(/[[{]/u);
  const last = Math.max(text.lastIndexOf(']'), text.lastIndexOf('}'));
  return first < 0 || last < first ? undefined : text.slice(first, last + 1);
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // another part of the answer may be
  }
}
