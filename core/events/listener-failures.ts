import { messageOf } from '../contract/errors.ts';
import type { Diagnostic } from '../contract/index.ts';

/** What listeners of the kernel's own threw: each message once, and not without end. */
export interface ListenerFailures {
  onListenerError(topic: string, error: unknown): void;
  diagnostics(): readonly Diagnostic[];
}

/** Messages beyond these say nothing new. */
const MOST_KEPT = 20;

export function createListenerFailures(): ListenerFailures {
  const messages = new Set<string>();
  return {
    onListenerError(topic, error) {
      if (messages.size < MOST_KEPT) messages.add(`a listener of '${topic}' failed: ${messageOf(error)}`);
    },
    diagnostics: () => [...messages].map((message) => ({ severity: 'warning', code: 'internal', message })),
  };
}
