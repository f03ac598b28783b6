import type * as tokenxModule from 'tokenx';
import type { Message } from '../../contract/index.ts';

let loading: Promise<typeof tokenxModule> | undefined;

/** Loaded when a text is long enough to matter. */
function tokenx(): Promise<typeof tokenxModule> {
  return (loading ??= import('tokenx'));
}

export async function countTokens(texts: readonly string[]): Promise<readonly number[]> {
  const { estimateTokenCount } = await tokenx();
  return texts.map((text) => estimateTokenCount(text));
}

/** `text` with at most `limit` tokens; what is cut is said. */
export async function cutToTokens(text: string, limit: number): Promise<string> {
  if (text.length <= limit) return text;
  const { estimateTokenCount, sliceByTokens } = await tokenx();
  if (estimateTokenCount(text) <= limit) return text;
  const mark = `\n[… cut at ${limit} tokens]`;
  return sliceByTokens(text, 0, limit - estimateTokenCount(mark)).trimEnd() + mark;
}

/** All text that a message costs the model. */
export function textOf(message: Message): string {
  if (message.role === 'system') return message.content;
  return message.content.map(partText).join('\n');
}

/** More than any tokenizer would count: characters. Cheap enough to decide whether counting is worth while. */
export function upperBound(messages: readonly Message[], from = 0): number {
  let total = 0;
  for (let index = from; index < messages.length; index += 1) total += textOf(messages[index] as Message).length + 8;
  return total;
}

type Part = Exclude<Message, { role: 'system' }>['content'][number];

function partText(part: Part): string {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return part.text;
    case 'tool-call':
      return `${part.toolName} ${JSON.stringify(part.input)}`;
    case 'tool-result':
      return 'value' in part.output && typeof part.output.value === 'string' ? part.output.value : JSON.stringify(part.output);
    default:
      return '';
  }
}
