import type { Retain } from '../../contract/index.ts';
import type { StoredMessage } from '../threads/index.ts';
import { documentsIn, isSummary } from './messages.ts';
import { isCut } from './tokens.ts';

type Retaining = Pick<StoredMessage, 'message' | 'retain'>;

/** What stands whole in a conversation, each once: results that asked to be kept, and documents beside messages. */
export function heldIn(messages: readonly Retaining[]): readonly Retain[] {
  return distinct([
    ...[...wholeTexts(messages).values()].map(([first]) => first as Retain),
    ...documentsIn(messages.map(({ message }) => message)),
  ]);
}

export function distinct(held: readonly Retain[]): readonly Retain[] {
  return [...new Map(held.map(({ key, digest }) => [nameOf({ key, digest }), { key, digest }])).values()];
}

/** Every result that asked to be kept and whose text is whole, by key and digest. */
export function wholeTexts(messages: readonly Retaining[]): ReadonlyMap<string, readonly Retain[]> {
  const found = new Map<string, Retain[]>();
  for (const stored of messages) {
    for (const [callId, retain] of Object.entries(stored.retain)) {
      if (!holdsWhole(stored, callId, retain)) continue;
      const name = nameOf(retain);
      found.set(name, [...(found.get(name) ?? []), retain]);
    }
  }
  return found;
}

/** Before each text that a summary holds whole. */
export function wholeHead(tool: string, { key, digest }: Retain): string {
  return `${key} ${digest}, from ${tool}:\n`;
}

export function nameOf({ key, digest }: Retain): string {
  return JSON.stringify([key, digest]);
}

function holdsWhole({ message }: Retaining, callId: string, retain: Retain): boolean {
  if (message.role === 'tool') {
    const part = message.content.find((each) => each.type === 'tool-result' && each.toolCallId === callId);
    return part?.type === 'tool-result' && part.output.type === 'text' && !isCut(part.output.value);
  }
  if (message.role !== 'user' || !isSummary(message)) return true; // what a user's message carries is never cut
  const head = wholeHead(callId.split('#', 1)[0] as string, retain);
  return message.content.some((part) => part.type === 'text' && part.text.includes(head));
}
