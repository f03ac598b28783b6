import { type Message, toolError } from '../../contract/index.ts';
import { refuseSealed } from '../threads/sealed-threads.ts';
import type { StoredMessage } from '../threads/thread.ts';
import { isSummary, resultPart } from './messages.ts';

type Part<Role extends Message['role']> = Exclude<Extract<Message, { role: Role }>['content'], string>[number];
type CallPart = Extract<Part<'assistant'>, { type: 'tool-call' }>;
type ResultPart = Extract<Part<'tool'>, { type: 'tool-result' }>;

/**
 * What of a thread's messages a model is sent; `ModelPrompt` sees to it that each call in them has its answer. A question whose turn ended
 * before the model said anything is left out, as if it had never been asked: whoever still wants its answer asks again. It stays in the
 * store. `current` is the turn that is still being worked on. Throws `not_allowed` where they are sealed.
 */
export function sentHistory(messages: readonly StoredMessage[], current?: string): readonly StoredMessage[] {
  refuseSealed(messages);
  const answered = new Set(messages.flatMap(({ turnId, message }) => (message.role === 'assistant' ? [turnId] : [])));
  return messages.filter(
    ({ turnId, message }) =>
      // Compaction writes without a turn.
      message.role !== 'user' || turnId === '' || turnId === current || answered.has(turnId) || isSummary(message),
  );
}

/** What is wrong with the order of a thread's messages. */
export interface HistoryFault {
  /** Of the message that it was found at. */
  readonly seq: number;
  readonly what: string;
}

/** Messages in which each call is answered once, and what had to be changed for it. Those without a fault stay the same objects. */
export function answeredHistory(
  stored: readonly StoredMessage[],
  current?: string,
): { readonly messages: readonly StoredMessage[]; readonly faults: readonly HistoryFault[] } {
  const pairing = new CallPairing();
  const messages: StoredMessage[] = [];
  const faults: HistoryFault[] = [];
  const unanswered = (): void => {
    const message = pairing.missing();
    const asking = messages.findLast((each) => each.message.role === 'assistant');
    if (message === null || asking === undefined) return;
    const { seq, turnId } = asking;
    for (const { toolName } of resultsOf(message)) faults.push({ seq, what: `the call of '${toolName}' has no answer` });
    messages.push({ seq: messages.at(-1)?.seq ?? seq, turnId, message, retain: {} });
  };
  for (const each of stored) {
    const { seq, message } = each;
    if (message.role !== 'tool') {
      unanswered();
      pairing.ask(message);
      messages.push(each);
      continue;
    }
    const kept = pairing.answer(message);
    const dropped = message.content.length - (kept?.content.length ?? 0);
    if (dropped > 0) faults.push({ seq, what: `${dropped} ${dropped === 1 ? 'result answers' : 'results answer'} no open call` });
    if (kept !== null) messages.push(kept === message ? each : { ...each, message: kept });
  }
  if (current === undefined || messages.at(-1)?.turnId !== current) unanswered();
  return { messages, faults };
}

/** Which calls are open while one message comes after the other. Models accept no call without its result, and no result without its call. */
export class CallPairing {
  #open: CallPart[] = [];

  /** From now on the calls of this message are open, and no others. */
  ask(message: Message): void {
    const parts = message.role === 'assistant' ? message.content : [];
    this.#open = parts.filter((part) => part.type === 'tool-call' && part.providerExecuted !== true) as CallPart[];
  }

  /** The message with the results of open calls, each once; the same object where these are all; null: none. */
  answer<T extends Extract<Message, { role: 'tool' }>>(message: T): T | null {
    const content = message.content.filter((part) => {
      const at = part.type === 'tool-result' ? this.#open.findIndex(({ toolCallId }) => toolCallId === part.toolCallId) : -1;
      if (at >= 0) this.#open.splice(at, 1);
      return at >= 0;
    });
    if (content.length === 0) return null;
    return content.length === message.content.length ? message : { ...message, content };
  }

  /** What would answer the calls that are open; null: there are none. */
  missing(): Extract<Message, { role: 'tool' }> | null {
    if (this.#open.length === 0) return null;
    return { role: 'tool', content: this.#open.map(({ toolCallId, toolName }) => resultPart(toolCallId, toolName, UNKNOWN)) };
  }
}

const UNKNOWN = toolError('interrupted', 'its outcome was not kept; check before calling it again');

function resultsOf(message: Extract<Message, { role: 'tool' }>): readonly ResultPart[] {
  return message.content.filter((part) => part.type === 'tool-result');
}
