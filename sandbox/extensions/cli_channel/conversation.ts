import type { ExtensionContext, TurnEvent } from 'pith';
import { CHANNEL_ID } from './describe-channel.ts';
import { newThreadId } from './thread-id.ts';

/** What of the context a conversation needs. */
export type ChatContext = Pick<ExtensionContext, 'id' | 'agents' | 'events' | 'find' | 'clock' | 'dataDirectory' | 'logger'>;

/** One person's talk: with whom, in which thread, by which model. */
export class Conversation {
  agentId: string;
  threadId: string;
  /** Overrides the agent's model. */
  model: string | null;
  /** Something was said in `threadId`. */
  begun = false;

  constructor(
    private readonly context: ChatContext,
    start: { readonly agentId: string; readonly threadId?: string; readonly model?: string },
  ) {
    this.agentId = start.agentId;
    this.threadId = start.threadId ?? newThreadId(context.clock.now());
    this.model = start.model ?? null;
  }

  /** One turn; never throws. null continues the one that was interrupted. */
  say(text: string | null, signal: AbortSignal): AsyncIterable<TurnEvent> {
    this.begun = true;
    const { agentId: agent, threadId, model } = this;
    const policy = model === null ? undefined : { model };
    const words = text === null ? { resume: true } : { input: text };
    return this.context.agents.run({ agent, threadId, channelId: CHANNEL_ID, policy, ...words }, signal);
  }

  startAnew(): void {
    this.threadId = newThreadId(this.context.clock.now());
    this.begun = false;
  }

  /** Goes on in a thread that exists. */
  moveTo(threadId: string): void {
    this.threadId = threadId;
    this.begun = true;
  }
}
