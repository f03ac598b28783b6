import type { CompactionProvider, ToolResult } from 'pith';
import { headAndTail } from '@pith/plain-text';

export type Request = Parameters<CompactionProvider['compact']>[0];
export type Recipe = NonNullable<Awaited<ReturnType<CompactionProvider['compact']>>>;
export type Sized = Request['messages'][number];

type ToolMessage = Extract<Sized['message'], { role: 'tool' }>;
type Part = ToolMessage['content'][number];

const HEAD = 2000;
const TAIL = 1000;
const LONG_RESULT = 4000;
const CHARACTERS_PER_TOKEN = 3;
/** The share of the window for a result that is new, or marked to be retained. */
const SHARE = 0.2;

/** Shortens long results to head and tail. The newest and retained ones may be longer. Unchanged messages stay the same objects. */
export function cutResults(messages: readonly Sized[], window: number): readonly Sized[] {
  const newest = messages.findLastIndex(({ message }) => message.role === 'tool');
  const generous = Math.max(LONG_RESULT, Math.floor(window * SHARE) * CHARACTERS_PER_TOKEN);
  return messages.map((each, index): Sized => {
    const { message, retain, tokens } = each;
    if (message.role !== 'tool') return each;
    const limitOf = (part: Part) => (index === newest || (part.type === 'tool-result' && retain[part.toolCallId]) ? generous : LONG_RESULT);
    const content = message.content.map((part) => cutPart(index === newest ? part : withoutImages(part), limitOf(part)));
    const cut = content.flatMap((part, at) => (part !== message.content[at] && part.type === 'tool-result' ? part : []));
    if (cut.length === 0) return each;
    const gone = cut.flatMap(({ toolCallId, toolName: tool }) => (retain[toolCallId] ? { tool, ...retain[toolCallId] } : []));
    const ids = new Set(cut.map(({ toolCallId }) => toolCallId));
    return {
      ...each,
      message: { ...message, content, providerOptions: { ...message.providerOptions, ...goneNote([...goneOf(message), ...gone]) } },
      retain: Object.fromEntries(Object.entries(retain).filter(([callId]) => !ids.has(callId))),
      tokens: Math.ceil((tokens * JSON.stringify(content).length) / JSON.stringify(message.content).length),
    };
  });
}

function cutPart(part: Part, limit: number): Part {
  if (part.type !== 'tool-result' || part.output.type !== 'text' || part.output.value.length <= limit) return part;
  const head = Math.max(Math.min(HEAD, Math.floor((limit * 2) / 3)), Math.floor(limit / 2));
  return { ...part, output: { ...part.output, value: headAndTail(part.output.value, head, TAIL) } };
}

/** The model has described what it saw in older images. */
function withoutImages(part: Part): Part {
  if (part.type !== 'tool-result' || part.output.type !== 'content') return part;
  const value = part.output.value.map((each) => (each.type === 'text' ? each.text : '[an image was here]')).join('\n');
  return { ...part, output: { type: 'text', value } };
}

export interface Retained {
  readonly tool: string;
  readonly retain: NonNullable<Extract<ToolResult, { ok: true }>['retain']>;
  /** null when it is gone already, or too long to stay. */
  readonly text: string | null;
}

const SMALL_RESULT = 1500;

/** Results marked to be retained, the newest of each key. */
export function retainedIn(messages: readonly Sized[]): readonly Retained[] {
  const found = new Map<string, Retained>();
  for (const { message, retain: wanted } of messages) {
    for (const { tool, key, digest } of goneOf(message)) found.set(key, { tool, retain: { key, digest }, text: null });
    for (const [callId, retain] of Object.entries(wanted)) {
      const content = message.role === 'tool' ? message.content : [];
      const part = content.find((each) => each.type === 'tool-result' && each.toolCallId === callId) as ResultPart | undefined;
      const text = part?.output.type === 'text' && part.output.value.length <= SMALL_RESULT ? part.output.value : null;
      found.set(retain.key, { tool: part?.toolName ?? (callId.split('#', 1)[0] as string), retain, text });
    }
  }
  return [...found.values()];
}

type ResultPart = Extract<Part, { type: 'tool-result' }>;

/** Their part of a summary: small ones as a whole, the others listed. */
export function retainedText(retained: readonly Retained[]): string {
  const whole = retained.flatMap(({ tool, retain, text }) =>
    text === null ? [] : [`${retain.key} ${retain.digest}, from ${tool}:\n${text}`],
  );
  const listed = retained.flatMap(({ tool, retain, text }) =>
    text === null ? [`- ${retain.key} ${retain.digest}: read it again with ${tool}`] : [],
  );
  const list = listed.length > 0 ? [`Loaded before, its text no longer above:\n${listed.join('\n')}`] : [];
  return [...whole, ...list].join('\n\n');
}

/** A result whose text was shortened or summarised: it can be requested again. */
type Gone = { readonly tool: string; readonly key: string; readonly digest: string };

/** Notes in a message which results compaction took out. */
export function goneNote(gone: readonly Gone[]) {
  return { compaction: { gone: gone.map(({ tool, key, digest }) => ({ tool, key, digest })) } };
}

function goneOf({ providerOptions }: Sized['message']): readonly Gone[] {
  return (providerOptions?.['compaction']?.['gone'] ?? []) as unknown as readonly Gone[];
}
