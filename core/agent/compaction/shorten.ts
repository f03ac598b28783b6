import type { StoredMessage } from '../threads/index.ts';
import type { ToolMessage } from '../prompt/messages.ts';
import { headAndTail } from '../prompt/tokens.ts';

const HEAD = 2000;
const TAIL = 1000;
const LONG_RESULT = 4000;
const CHARACTERS_PER_TOKEN = 3;
/** The part of the window that a result may fill while it is new, or asked to be kept. */
const SHARE = 0.2;

/** Head and tail of long tool results. The newest and those that asked to be kept may be longer. Unchanged messages stay the same objects. */
export function cutResults(messages: readonly StoredMessage[], window: number): readonly StoredMessage[] {
  const newest = messages.findLastIndex(({ message }) => message.role === 'tool');
  const generous = Math.max(LONG_RESULT, Math.floor(window * SHARE) * CHARACTERS_PER_TOKEN);
  return messages.map((stored, index) => {
    if (stored.message.role !== 'tool') return stored;
    const content = stored.message.content.map((part) => {
      const limit = index === newest || (part.type === 'tool-result' && stored.retain[part.toolCallId]) ? generous : LONG_RESULT;
      return cutPart(part, limit);
    });
    if (content.every((part, position) => part === (stored.message as ToolMessage).content[position])) return stored;
    return { ...stored, message: { ...stored.message, content } };
  });
}

function cutPart(part: ToolMessage['content'][number], limit: number): ToolMessage['content'][number] {
  if (part.type !== 'tool-result' || part.output.type !== 'text' || part.output.value.length <= limit) return part;
  const head = Math.min(HEAD, Math.floor((limit * 2) / 3));
  return { ...part, output: { ...part.output, value: headAndTail(part.output.value, Math.max(head, Math.floor(limit / 2)), TAIL) } };
}
