import type { JsonValue } from 'pith';
import type { ProgramEnd, ProgramEvent } from 'pith/program_turns';

/** A call of a tool that Pith ran, for a program that asks to see them. */
export interface ShownStep {
  readonly id: string;
  readonly name: string;
  readonly arguments: JsonValue;
  readonly ok: boolean;
  readonly title?: string;
}

export type AnswerPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'step'; readonly step: ShownStep }
  | ProgramEnd;

/** The answer to one request: text, with what waits for a person at its end, and the steps. The first event, `thread`, is taken off before. */
export async function* answerParts(events: AsyncIterable<ProgramEvent>): AsyncGenerator<AnswerPart, void, undefined> {
  const inputs = new Map<string, JsonValue>();
  let hasText = false;
  let isNewParagraph = false;
  const said = (text: string): AnswerPart => {
    const part = { type: 'text' as const, text: isNewParagraph ? `\n\n${text}` : text };
    hasText = true;
    isNewParagraph = false;
    return part;
  };
  for await (const event of events) {
    if (event.type === 'text-delta') yield said(event.text);
    else if (event.type === 'step-end' || event.type === 'turn-start') isNewParagraph = hasText;
    else if (event.type === 'tool-call') inputs.set(event.id, event.input);
    else if (event.type === 'tool-result') {
      const { id, name, ok, title } = event;
      yield { type: 'step', step: { id, name, arguments: inputs.get(id) ?? {}, ok, ...(title === undefined ? {} : { title }) } };
    } else if (event.type === 'end') {
      isNewParagraph = hasText;
      if (event.questions.length > 0) yield said(event.questions.map(({ text }) => text).join('\n\n'));
      yield event;
    }
  }
}
