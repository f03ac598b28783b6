import type { StoredMessage } from '../../threads/thread.ts';
import { isSummary } from './messages.ts';

/**
 * What of a thread's messages a model is sent. A question whose turn ended before the model said anything is left out, as if it had never
 * been asked: whoever still wants its answer asks again. It stays in the store. `current` is the turn that is still being worked on.
 */
export function sentHistory(messages: readonly StoredMessage[], current?: string): readonly StoredMessage[] {
  const answered = new Set(messages.flatMap(({ turnId, message }) => (message.role === 'assistant' ? [turnId] : [])));
  return messages.filter(
    ({ turnId, message }) =>
      // Compaction writes without a turn.
      message.role !== 'user' || turnId === '' || turnId === current || answered.has(turnId) || isSummary(message),
  );
}
