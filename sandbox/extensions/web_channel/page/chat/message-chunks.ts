import type { Message } from './shapes.ts';

/** Messages that are drawn together, or not at all while they are far from what is seen. */
export type MessageChunk = readonly Message[];

const FEWEST = 25;

/** With messages that are behind all others. Chunks that do not change stay the same objects. */
export function appended(chunks: readonly MessageChunk[], messages: readonly Message[]): readonly MessageChunk[] {
  return messages.length === 0 ? chunks : [...chunks.slice(0, -1), ...divided([...(chunks.at(-1) ?? []), ...messages])];
}

/** With messages that are before all others. */
export function prepended(chunks: readonly MessageChunk[], messages: readonly Message[]): readonly MessageChunk[] {
  const [first = [], ...rest] = chunks;
  const results = first.slice(0, beginning(first));
  const left = first.slice(results.length);
  return [...divided([...messages, ...results]), ...(left.length === 0 ? [] : [results.length === 0 ? first : left]), ...rest];
}

/** The results of a call stay with it. */
function divided(messages: readonly Message[]): readonly MessageChunk[] {
  const chunks: Message[][] = [];
  for (const message of messages) {
    const last = chunks.at(-1);
    if (last === undefined || (last.length >= FEWEST && message.role !== 'tool')) chunks.push([message]);
    else last.push(message);
  }
  return chunks;
}

/** How many results there are before its first other message. */
function beginning(chunk: MessageChunk): number {
  const at = chunk.findIndex(({ role }) => role !== 'tool');
  return at === -1 ? chunk.length : at;
}
