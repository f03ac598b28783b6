import type { StoredMessage } from '../threads/index.ts';
import type { ToolMessage } from '../turn/messages.ts';

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

/** The first and the last of a text, with what is missing between them said. */
export function headAndTail(text: string, head: number, tail: number): string {
  if (text.length <= head + tail) return text;
  return `${whole(text.slice(0, head))}\n[… ${text.length - head - tail} characters cut …]\n${whole(text.slice(-tail))}`;
}

/** Whether something is missing from a text. */
export function isCut(text: string): boolean {
  return /\[… \d+ characters cut …\]/.test(text);
}

function cutPart(part: ToolMessage['content'][number], limit: number): ToolMessage['content'][number] {
  if (part.type !== 'tool-result' || part.output.type !== 'text' || part.output.value.length <= limit) return part;
  const head = Math.min(HEAD, Math.floor((limit * 2) / 3));
  return { ...part, output: { ...part.output, value: headAndTail(part.output.value, Math.max(head, Math.floor(limit / 2)), TAIL) } };
}

/** Without the half of a pair of surrogates that a cut may leave at either end. */
function whole(text: string): string {
  return text.replace(/^[\uDC00-\uDFFF]/, '').replace(/[\uD800-\uDBFF]$/, '');
}
