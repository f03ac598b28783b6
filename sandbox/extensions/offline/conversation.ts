import { endsOf } from '@pith/plain-text';
import type { JsonValue, Message, ModelCallOptions } from 'pith';

/** A finished tool call of the history. */
export interface PastCall {
  /** Without the extension's name that precedes it after a name clash. */
  readonly tool: string;
  readonly input: JsonValue;
  readonly ok: boolean;
  readonly output: JsonValue;
}

/** The facts on which the decision depends. */
export interface Conversation {
  readonly question: string;
  /** Calls of the current turn, oldest first. */
  readonly calls: readonly PastCall[];
  /** Calls of earlier turns, oldest first. */
  readonly earlierCalls: readonly PastCall[];
  /** The callable name of a tool by its plain name. */
  readonly tools: ReadonlyMap<string, string>;
  /** The description of a tool by its plain name. */
  readonly descriptions: ReadonlyMap<string, string>;
  /** Context added to the question: lines, and whole texts of skills. */
  readonly beside: readonly string[];
  /** Context of earlier questions, oldest first. */
  readonly besideEarlier: readonly string[];
  /** It has answered here before. */
  readonly hasAnswered: boolean;
}

export function readConversation(prompt: readonly Message[], tools: NonNullable<ModelCallOptions['tools']>): Conversation {
  const lastUser = prompt.findLastIndex((message) => message.role === 'user');
  return {
    question: lastUser < 0 ? '' : userText(prompt[lastUser]),
    calls: callsOf(prompt.slice(lastUser + 1)),
    earlierCalls: callsOf(prompt.slice(0, Math.max(0, lastUser))),
    tools: new Map(tools.map((tool) => [plainName(tool.name), tool.name])),
    descriptions: new Map(tools.map((tool) => [plainName(tool.name), 'description' in tool ? (tool.description ?? '') : ''])),
    beside: lastUser < 0 ? [] : partsBeside(prompt[lastUser]),
    hasAnswered: prompt.some((message) => message.role === 'assistant' && message.content.some(({ type }) => type === 'text')),
    besideEarlier: prompt.slice(0, Math.max(0, lastUser)).flatMap(partsBeside),
  };
}

/** Characters of a question; a long one is known by its beginning and its end. */
const MOST_QUESTION = 8192;

/** The last text part: context providers wrote the parts before it. */
function userText(message: Message | undefined): string {
  if (message?.role !== 'user') return '';
  const last = message.content.findLast((part) => part.type === 'text');
  return last?.type === 'text' ? endsOf(last.text.trim(), MOST_QUESTION) : '';
}

function partsBeside(message: Message | undefined): readonly string[] {
  if (message?.role !== 'user') return [];
  return message.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).slice(0, -1);
}

function callsOf(messages: readonly Message[]): readonly PastCall[] {
  const inputs = new Map<string, JsonValue>();
  const calls: PastCall[] = [];
  for (const message of messages) {
    if (message.role !== 'assistant' && message.role !== 'tool') continue;
    for (const part of message.content) {
      if (part.type === 'tool-call') inputs.set(part.toolCallId, part.input as JsonValue);
      if (part.type !== 'tool-result') continue;
      const { type } = part.output;
      calls.push({
        tool: plainName(part.toolName),
        input: inputs.get(part.toolCallId) ?? null,
        ok: type === 'text' || type === 'json' || type === 'content',
        output: 'value' in part.output ? (part.output.value as JsonValue) : null,
      });
    }
  }
  return calls;
}

/** `list_skills` of `skill_registry__list_skills`. */
function plainName(name: string): string {
  return name.split('__').at(-1) ?? name;
}
