import type { CommandIO } from 'pith';
import type { Conversation } from './conversation.ts';

/** What a command wants said as the person's next message. */
export class Outbox {
  #text: string | null = null;

  session({ threadId, agentId }: Pick<Conversation, 'threadId' | 'agentId'>): NonNullable<CommandIO['session']> {
    return { threadId, agentId, send: (text) => void (this.#text = text) };
  }

  /** Once the command has ended. An empty text is no message. */
  take(): string | null {
    const text = this.#text;
    this.#text = null;
    return text?.trim() ? text : null;
  }
}
