import { defineProtocol } from '../protocol.ts';

export interface ChannelMessage {
  readonly text: string;
  readonly kind: string;
  /** The conversation that it is about. */
  readonly threadId?: string;
  /** The question that `pith approvals` answers: a channel that shows it already need not show it again. */
  readonly approvalId?: string;
}

/** Reaches people outside a turn: notices, questions, results of runs. */
export interface ChannelProvider {
  /** Targets it can reach: `terminal`, `web`, … */
  readonly kinds: readonly string[];
  /** Returns a reference to what was delivered. Rejects when nobody could be reached. */
  deliver(message: ChannelMessage, target: string): Promise<string>;
  react?(reference: string, emoji: string): Promise<void>;
  filters?(): Promise<readonly string[]>;
}

export const ChannelProvider = defineProtocol<ChannelProvider>('channel', {
  kinds: { kind: 'constant', signature: 'kinds: string[]' },
  deliver: { kind: 'method', signature: 'deliver(message: ChannelMessage, target: string): Promise<string>' },
  react: { kind: 'method', signature: 'react(reference: string, emoji: string): Promise<void>', optional: true },
  filters: { kind: 'method', signature: 'filters(): Promise<string[]>', optional: true },
});
