import type { Retain } from '../../contract/index.ts';
import type { StoredMessage } from '../threads/index.ts';
import { nameOf, wholeHead, wholeTexts } from '../prompt/held.ts';

interface Kept {
  readonly tool: string;
  readonly retain: Retain;
  /** null when it was dropped before, or is too long to stay. */
  readonly text: string | null;
}

const SMALL_RESULT = 1500;

/** Results that asked to be kept, newest of each key. The kernel does not know what they are. */
export function keptOf(messages: readonly StoredMessage[]): readonly Kept[] {
  const found = new Map<string, Kept>();
  for (const { message, retain } of messages) {
    for (const [callId, wanted] of Object.entries(retain)) {
      const part =
        message.role === 'tool' ? message.content.find((each) => each.type === 'tool-result' && each.toolCallId === callId) : undefined;
      const tool = part?.type === 'tool-result' ? part.toolName : (callId.split('#', 1)[0] as string);
      const text = part?.type === 'tool-result' && part.output.type === 'text' ? part.output.value : null;
      found.set(wanted.key, { tool, retain: wanted, text: text !== null && text.length <= SMALL_RESULT ? text : null });
    }
  }
  return [...found.values()];
}

export function keptText(kept: readonly Kept[]): string {
  const whole = kept.flatMap(({ tool, retain, text }) => (text === null ? [] : [`${wholeHead(tool, retain)}${text}`]));
  const listed = kept.flatMap(({ tool, retain, text }) =>
    text === null ? [`- ${retain.key} ${retain.digest}: read it again with ${tool}`] : [],
  );
  const list = listed.length > 0 ? [`Loaded before, its text no longer above:\n${listed.join('\n')}`] : [];
  return [...whole, ...list].join('\n\n');
}

/** The results that asked to be kept: those whose text still stands whole in the thread, and those whose text has gone. */
export interface RetainedFate {
  readonly kept: readonly Retain[];
  readonly dropped: readonly Retain[];
}

type Kind = Pick<StoredMessage, 'message' | 'retain'>;

/** A text that came in several results is kept only when all of them are. */
export function fateOf(before: readonly Kind[], after: readonly Kind[]): RetainedFate {
  const [held, left] = [wholeTexts(before), wholeTexts(after)];
  const isKept = (retain: Retain) => (left.get(nameOf(retain)) ?? []).length >= (held.get(nameOf(retain)) ?? []).length;
  const all = [...held.values()].map(([first]) => first as Retain);
  return { kept: all.filter(isKept), dropped: all.filter((retain) => !isKept(retain)) };
}
